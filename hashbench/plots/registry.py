"""The figures by name, found by listing this folder: a figure is a file that ends in `PLOT`."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from hashbench.errors import InputError, near_match
from hashbench.plots.base import Plot


@cache
def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order."""
    files = sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem != "__init__")
    modules = [importlib.import_module(f"hashbench.plots.{name}") for name in files]
    found = [plot for module in modules for name, plot in vars(module).items() if name == "PLOT"]
    return {plot.name: plot for plot in sorted(found, key=lambda plot: plot.name)}


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    known = plots()
    if name not in known:
        raise InputError(f"plot: no figure {name!r}{near_match(name, list(known))}; there are: {', '.join(known)}")
    return known[name]
