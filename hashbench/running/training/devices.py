"""The device of a training and the precision that it has there."""

from __future__ import annotations

import torch

from hashbench.models.encoders.base import Encoder
from hashbench.running.experiment.recipes import Precision


def pick_device(device: str) -> str:
    """The torch device for `auto`, `cpu`, `gpu`, `cuda`, `cuda:1` or `mps`; without a GPU the CPU, which a check of
    the experiment refuses for `gpu`."""
    if device not in ("auto", "gpu"):
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def precision_found(precision: Precision, device: str) -> Precision:
    """The precision that training will have: that of the recipe if the hardware computes in it, else "32".

    Torch emulates bf16 on what lacks it. On a processor with AVX2 alone a product then takes fourteen times as long as
    in float32.
    """
    if precision == "32":
        return precision
    match pick_device(device).partition(":")[0]:
        case "cuda":
            has_it = torch.cuda.is_bf16_supported(including_emulation=False)
        case "cpu":
            has_it = _processor_has_bf16()
        case _:
            has_it = True
    return precision if has_it else "32"


def autocast(encoder: Encoder, precision: Precision, device: torch.device) -> torch.autocast:
    """Context in which a model with this encoder computes in a precision that was found on the device."""
    encoder.bf16_residual = precision == "bf16-residual"
    return torch.autocast(device.type, torch.bfloat16, enabled=precision != "32")


def _processor_has_bf16() -> bool:
    if not hasattr(torch.cpu, "get_capabilities"):  # an older torch: true of every processor with AVX-512
        return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    has = torch.cpu.get_capabilities()
    return any(has.get(unit) for unit in ("avx512_bf16", "amx_bf16", "avx10_2", "bf16", "sve_bf16"))
