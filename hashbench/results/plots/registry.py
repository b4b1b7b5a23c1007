"""The figures by name: the suite's, and those of plug-ins."""

from __future__ import annotations

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.results.plots.base import Plot


def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order. Raises InputError that names both files of a double name."""
    return dict(sorted(registered("figure").items()))


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    known = plots()
    if name not in known:
        hint = f"{near_match(name, list(known))}; there are: {', '.join(known)}"
        raise InputError(f"plot: no figure {name!r}{hint}{unreadable()}")
    return known[name]
