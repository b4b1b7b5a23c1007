"""The perturbations by name: the suite's, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.data.perturbations.base import Perturbation


def perturbations() -> Mapping[str, Perturbation]:
    """Every perturbation by name. Raises InputError where two have one name."""
    return registered("perturbation")


def find_perturbation(name: str) -> Perturbation:
    """The named perturbation. Raises InputError where there is none of this name."""
    known = perturbations()
    if name not in known:
        hint = near_match(name, list(known)) or f"; there are: {', '.join(known)}"
        raise InputError(f"unknown perturbation {name!r}{hint}{unreadable()}")
    return known[name]
