"""Encoders by name and size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from hashbench.encoders.bert import SIZES, BertEncoder, EncoderConfig
from hashbench.errors import InputError, near_match

ENCODERS: dict[str, Callable[[EncoderConfig], BertEncoder]] = {"bert": BertEncoder}


def encoder_config(size: str, **overrides: int | float) -> EncoderConfig:
    """The shape of a size with some values replaced. Raises InputError for an unknown size or value."""
    if size not in SIZES:
        raise InputError(f"encoder: unknown size {size!r}{near_match(size, list(SIZES))}; sizes: {', '.join(SIZES)}")
    known = [entry.name for entry in fields(EncoderConfig)]
    for key in overrides:
        if key not in known:
            raise InputError(f"encoder: unknown value {key!r}{near_match(key, known)}; values: {', '.join(known)}")
    return replace(SIZES[size], **overrides)  # type: ignore[arg-type]


def make_encoder(name: str, size: str, **overrides: int | float) -> BertEncoder:
    """A freshly drawn encoder: its architecture by `name`, its shape by `size`, single values by `overrides`.

    >>> make_encoder("bert", "tiny", layers=1).config.layers
    1
    """
    if name not in ENCODERS:
        near = near_match(name, list(ENCODERS))
        raise InputError(f"encoder: unknown name {name!r}{near}; encoders: {', '.join(ENCODERS)}")
    return ENCODERS[name](encoder_config(size, **overrides))
