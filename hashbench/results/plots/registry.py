"""The figures by name: files that end in `PLOT`, in this folder and the one named by HASHBENCH_PLOTS."""

from __future__ import annotations

from functools import cache

from hashbench.common.errors import InputError, near_match
from hashbench.common.listing import by_name, modules_in
from hashbench.results.plots.base import Plot

EXTRA_FOLDER = "HASHBENCH_PLOTS"


@cache
def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order. Raises InputError that names both files of a double name."""
    modules = [
        module for module in modules_in("hashbench.results.plots", EXTRA_FOLDER, "figures") if hasattr(module, "PLOT")
    ]
    figures: dict[str, Plot] = by_name(modules, "figure", lambda module: [(module.PLOT.name, module.PLOT)])
    return dict(sorted(figures.items()))


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    known = plots()
    if name not in known:
        raise InputError(f"plot: no figure {name!r}{near_match(name, list(known))}; there are: {', '.join(known)}")
    return known[name]
