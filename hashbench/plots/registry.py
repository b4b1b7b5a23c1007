"""The figures by name, found by listing this folder: a figure is a file that ends in `PLOT`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import hashbench.plots
from hashbench.errors import InputError, near_match
from hashbench.plots.base import Plot


@cache
def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order."""
    files = pkgutil.iter_modules(hashbench.plots.__path__, "hashbench.plots.")
    contents = [vars(importlib.import_module(file.name)) for file in files]
    figures: list[Plot] = [content["PLOT"] for content in contents if "PLOT" in content]
    return {plot.name: plot for plot in sorted(figures, key=lambda plot: plot.name)}


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    known = plots()
    if name not in known:
        raise InputError(f"plot: no figure {name!r}{near_match(name, list(known))}; there are: {', '.join(known)}")
    return known[name]
