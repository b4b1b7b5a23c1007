"""Encoders by name and size: the suite's, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import torch

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.models.encoders.base import Architecture, Encoder

_outlines: dict[tuple[object, str], Encoder] = {}  # by what builds them, and their config


def architectures() -> Mapping[str, Architecture]:
    """All encoders by name. Raises InputError where two have one name."""
    return registered("encoder")


def find_architecture(name: str) -> Architecture:
    """The encoder of a name. Raises InputError with the nearest names."""
    known = architectures()
    if name not in known:
        hint = f"{near_match(name, list(known))}; encoders: {', '.join(known)}"
        raise InputError(f"encoder: unknown name {name!r}{hint}{unreadable()}")
    return known[name]


def encoder_config(name: str, size: str, **overrides: Any) -> Any:
    """The shape of an encoder's size with some values replaced. Raises InputError for an unknown name, size or value.

    >>> encoder_config("bert", "tiny", layers=1).layers
    1
    """
    sizes = find_architecture(name).sizes
    if size not in sizes:
        raise InputError(f"encoder: unknown size {size!r}{near_match(size, list(sizes))}; sizes: {', '.join(sizes)}")
    known = [entry.name for entry in fields(sizes[size])]
    for key in overrides:
        if key not in known:
            raise InputError(f"encoder: unknown value {key!r}{near_match(key, known)}; values: {', '.join(known)}")
    return replace(sizes[size], **overrides)


def make_encoder(name: str, size: str, **overrides: Any) -> Encoder:
    """A freshly drawn encoder: its architecture by `name`, its shape by `size`, single values by `overrides`."""
    return find_architecture(name).build(encoder_config(name, size, **overrides))


def encoder_outline(name: str, size: str, **overrides: Any) -> Encoder:
    """The same on the meta device, where weights cost nothing, to be asked and counted. All who ask share one of a
    shape: drawing even its weightless parts takes longer than planning a run.

    >>> encoder_outline("bert", "tiny").layer_passes
    2.0
    """
    build, config = find_architecture(name).build, encoder_config(name, size, **overrides)
    key = (build, repr(config))
    if key not in _outlines:
        with torch.device("meta"):
            _outlines[key] = build(config)
    return _outlines[key]
