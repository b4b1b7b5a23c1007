"""The coders by name: the suite's, and those of plug-ins and user-defined files."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.registry import class_of, make, registered
from hashbench.models.coders.base import Coder


def coders() -> Mapping[str, type[Coder]]:
    """All coders by name. Raises InputError where two have one name."""
    return registered("coder")


def find_coder(name: str) -> type[Coder] | None:
    """The class of a name, also of one in an imported user-defined file; None where there is none."""
    return class_of("coder", name)


def make_coder(name: str, **arguments: object) -> Coder:
    """A coder by name, or by that of an imported user-defined file (`registry.own_name`).

    >>> coder = make_coder("md5-bits")
    >>> coder.encode(["play"])[0].tobytes().hex()
    '95ea122b0b72902c5a95d7ba740ff838'

    Raises:
        InputError: unknown name or argument, or a value that the coder refuses.
    """
    coder: Coder = make("coder", name, arguments)
    return coder
