"""Checks of an exported folder's weights, before anything is built of them or allocated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn.modules import module as registrations

from hashbench.common.errors import InputError
from hashbench.deployment.untrusted import AGAIN, plain_file, short

BESIDE_WEIGHTS = 2**30  # bytes of what is built and not stored, such as tables of fixed random vectors
PARTS_A_TENSOR, FURTHER_PARTS = 64, 2_000  # modules, parameters and buffers that a model of so many tensors may have


@dataclass(frozen=True)
class WeightsHeader:
    """The header of a file of weights: the shape of each tensor, and whether it has floating point numbers."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    floats: Mapping[str, bool]

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Ends the building of modules in the block, by InputError, where they are more than these tensors can be."""
        most, parts = PARTS_A_TENSOR * len(self.shapes) + FURTHER_PARTS, 0

        def count(*registered: object) -> None:
            nonlocal parts
            parts += 1
            if parts > most:
                raise InputError(f"{self.path}: has {len(self.shapes)} tensors, too few for config.json; {AGAIN}")

        kinds = ("module", "parameter", "buffer")
        hooks = [getattr(registrations, f"register_module_{kind}_registration_hook")(count) for kind in kinds]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def check(self, part: nn.Module, prefix: str) -> None:
        """Raises InputError where a module, on the meta device, has not the tensors with this prefix in their names."""
        state = part.state_dict()
        for name, tensor in state.items():
            shape = self.shapes.get(prefix + name)
            if shape is None or shape != tuple(tensor.shape) or self.floats[prefix + name] != is_float(tensor):
                there = "is missing" if shape is None else f"has shape {list(shape)}"
                wanted = f"config.json means {list(tensor.shape)} {tensor.dtype}".replace("torch.", "")
                raise InputError(
                    f"{self.path}: not the weights of this model: {prefix}{name} {there}, {wanted}; {AGAIN}"
                )
        built = {name for name, _ in part.named_buffers()} - set(state)  # stored for other libraries
        for name in self.shapes:
            if name.startswith(prefix) and name.removeprefix(prefix) not in {*state, *built}:
                raise InputError(f"{self.path}: not the weights of this model: {name[:80]} is no part of it; {AGAIN}")
        beside = sum(buffer.nbytes for name, buffer in part.named_buffers() if name in built)
        if beside > BESIDE_WEIGHTS:
            raise InputError(f"{self.path}: config.json means {beside:,} bytes beside the weights; {AGAIN}")


def is_float(tensor: Tensor) -> bool:
    """True for a tensor of any shape (n, ...) of floating point numbers."""
    return tensor.dtype.is_floating_point


def stored_tensors(path: Path) -> WeightsHeader:
    """The header of a file of weights; nothing else is read. Raises InputError for what is no such file."""
    plain_file(path)
    try:
        with safe_open(path, "pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            return WeightsHeader(path, shapes, {name: "F" in part.get_dtype() for name, part in slices.items()})
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: not the weights of this model ({short(error)}); {AGAIN}") from error


def check_finite(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raises InputError for a tensor (n, ...) that holds a number that is not finite."""
    for name, tensor in tensors.items():
        if is_float(tensor) and not torch.isfinite(tensor).all():
            raise InputError(f"{path}: {name} holds numbers that are not finite; {AGAIN}")
