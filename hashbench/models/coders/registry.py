"""The coders by name: the classes with a name in this folder and the one named by HASHBENCH_CODERS."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.listing import listed_classes, make_known, own_classes
from hashbench.models.coders.base import Coder

EXTRA_FOLDER = "HASHBENCH_CODERS"


def coders() -> Mapping[str, type[Coder]]:
    """All coders by name. Raises InputError where two have one name."""
    return listed_classes("hashbench.models.coders", EXTRA_FOLDER, "coder", Coder, "name")


def find_coder(name: str) -> type[Coder] | None:
    """The class of a name, also of one in an imported file of the user's own; None where there is none."""
    return {**own_classes(Coder), **coders()}.get(name)


def make_coder(name: str, **arguments: object) -> Coder:
    """A coder by name, or by that of an imported file of the user's own (`listing.own_name`).

    >>> coder = make_coder("md5-bits")
    >>> coder.encode(["play"])[0].tobytes().hex()
    '95ea122b0b72902c5a95d7ba740ff838'

    Raises:
        InputError: unknown name or argument, or a value that the coder refuses.
    """
    return make_known(Coder, coders, what="coder", key="name", name=name, arguments=arguments)
