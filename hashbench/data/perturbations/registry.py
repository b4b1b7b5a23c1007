"""The perturbations by name, found by listing this folder and the one named by HASHBENCH_PERTURBATIONS."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from hashbench.common.errors import InputError, near_match
from hashbench.common.listing import by_name, modules_in
from hashbench.data.perturbations.base import Perturbation

EXTRA_FOLDER = "HASHBENCH_PERTURBATIONS"


@functools.cache
def perturbations() -> Mapping[str, Perturbation]:
    """Every perturbation by name. Raises InputError where two have one name, or that variable names no folder."""
    return by_name(
        modules_in("hashbench.data.perturbations", EXTRA_FOLDER, "perturbations"),
        "perturbation",
        lambda module: ((entry.name, entry) for entry in vars(module).get("PERTURBATIONS", ())),
    )


def find_perturbation(name: str) -> Perturbation:
    """The named perturbation. Raises InputError where there is none of this name."""
    known = perturbations()
    if name not in known:
        hint = near_match(name, list(known)) or f"; there are: {', '.join(known)}"
        raise InputError(f"unknown perturbation {name!r}{hint}")
    return known[name]


def title_of(name: str) -> str:
    """How tables call a perturbation; one that this version does not know by its name."""
    known = perturbations()
    return known[name].words if name in known else name
