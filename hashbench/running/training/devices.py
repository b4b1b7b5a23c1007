"""The device of a training: its precision, its memory, and how many rows of a batch fit.

The number of rows is found by trials: one row, twice as many, and so on.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hashbench.common.errors import InputError
from hashbench.common.process import is_out_of_memory, main_memory
from hashbench.common.progress import progress
from hashbench.models.embeddings.base import Batch
from hashbench.models.encoders.base import Encoder
from hashbench.running.experiment.recipes import Precision
from hashbench.running.training.accumulation import MicroBatch, micro_batches, weighted

if TYPE_CHECKING:
    from hashbench.running.training.module import RecipeModule


def pick_device(device: str) -> str:
    """The torch device for `auto`, `cpu`, `gpu`, `cuda`, `cuda:1` or `mps`; without a GPU the CPU, which a check of
    the experiment refuses for `gpu`."""
    if device not in ("auto", "gpu"):
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def precision_found(precision: Precision, device: str) -> Precision:
    """The precision that training will have: the recipe's if the hardware computes in it, else "32".

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


# The share of free memory that a training may fill: trials do not see what fragments it later.
SHARE = 0.9
# Copies of the trained parameters that a step needs beside its gradients: AdamW's two moments.
MOMENTS = 2
SENT = 1  # one more where gradients are collected for other devices


def largest_micro_batch(
    module: RecipeModule, batch: Batch, device: torch.device, *, precision: Precision = "32", devices: int = 1
) -> int:
    """The number of rows of `batch` (B, L) that fit into memory at a time: B, or the largest of B/2, B/4, ...

    `batch` holds the longest rows of a training, longest first. Weights and random states stay as they are. A size that
    is likely too large by those before it is not tried: a CPU would swap instead of refusing.
    Raises InputError where one row is too much.
    """
    limit = int(SHARE * free_bytes(device))
    module.to(device)
    copies = MOMENTS + (SENT if devices > 1 else 0)
    held = [torch.empty_like(p) for p in module.parameters() if p.requires_grad for _ in range(copies)]
    tried: list[tuple[int, int]] = []  # rows, and the bytes that they took
    peak: int | None = None
    module.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        for size in sizes(len(batch)):
            if _expected(tried, size) > limit:
                break
            progress(f"trying {size} rows at a time", step=False)
            part = micro_batches(batch, size, module.label_counts)[0]
            peak = peak_bytes_of(partial(_step, module, part, device, precision), device)
            module.zero_grad()
            if peak is None or peak > limit:
                break
            tried.append((size, peak))
    del held
    if not tried:
        needed = "more" if peak is None else f"{peak / 1e9:.1f} GB"
        raise InputError(
            f"micro_batch_size: auto: one row of {batch.positions.shape[1]} tokens needs {needed}, and {device.type} "
            f"has {limit / 1e9:.1f} GB to give; take shorter inputs, or another device"
        )
    return tried[-1][0]


def _expected(tried: list[tuple[int, int]], size: int) -> float:
    """Bytes that `size` rows will take, extrapolated from the last two trials; 0 before there are two."""
    if len(tried) < 2:
        return 0.0
    (rows, peak), (more_rows, more_peak) = tried[-2:]
    return more_peak + (size - more_rows) * (more_peak - peak) / (more_rows - rows)


def sizes(rows: int) -> list[int]:
    """`rows`, half of it, a quarter and so on down to 1, rounded up, in ascending order.

    >>> sizes(12)
    [1, 2, 3, 6, 12]
    """
    halves = [rows]
    while halves[-1] > 1:
        halves.append(-(-halves[-1] // 2))
    return halves[::-1]


def _step(module: RecipeModule, part: MicroBatch, device: torch.device, precision: Precision) -> None:
    """Runs forward and backward on some rows of a batch."""
    there = part.to(device)
    with autocast(module.model.encoder, precision, device):
        loss = weighted(module.loss_terms(there.batch), there.shares)
    loss.backward()


def free_bytes(device: torch.device) -> int:
    """Bytes of a device's memory that this process has or may still take."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    if device.type == "mps":
        return torch.mps.recommended_max_memory()
    return _free_main_memory()


def peak_bytes_of(work: Callable[[], None], device: torch.device) -> int | None:
    """The most bytes that this process holds on a device during the work; None where the device runs out of memory.

    On a CPU the whole process is meant, and freed memory that the C library keeps counts.
    """
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        start_of_peak()
    try:
        work()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    if device.type == "mps":
        return torch.mps.driver_allocated_memory()
    return resident_peak()


def release_memory() -> None:
    """Frees memory that nothing uses any more, so that another piece of work can have it."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def start_of_peak() -> int:
    """Resets the peak of this process's resident memory, where the system can, and returns it in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: sets the peak to the present size
    except OSError:
        pass
    return resident_peak()


def resident_peak() -> int:
    """The largest resident size of this process since the start or the last reset, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage does not know of the reset
        return _kilobytes(status, "VmHWM")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _free_main_memory() -> int:
    """Bytes of main memory that are free or belong to this process."""
    information = Path("/proc/meminfo")
    if information.exists():
        return _kilobytes(information, "MemAvailable") + _kilobytes(Path("/proc/self/status"), "VmRSS")
    return main_memory()


def _kilobytes(file: Path, key: str) -> int:
    """The value in bytes of the line 'key: 123 kB' of a file."""
    line = next(line for line in file.read_text().splitlines() if line.startswith(key))
    return 1024 * int(line.split()[1])
