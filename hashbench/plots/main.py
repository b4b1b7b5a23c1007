"""`hashbench plot`: figures of an experiment as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hashbench.errors import InputError
from hashbench.plots.base import Format, NothingToDraw, Source, Width
from hashbench.plots.registry import find_plot, plots
from hashbench.plots.sheet import save, styled
from hashbench.store.engine import Store


@dataclass(frozen=True)
class Plotted:
    """The files that were written, and for each figure without data the reason."""

    files: tuple[Path, ...]
    left_out: dict[str, str]


def plot(
    store: Store,
    names: Sequence[str] = (),
    *,
    experiment: str | None = None,
    folder: Path,
    format: Format = "png",
    width: Width = "double",
) -> Plotted:
    """Draws the named figures, or all that the experiment (None: the one swept last) has data for.

    Raises InputError for an unknown name, for a named figure without data, and where nothing at all can be drawn.
    """
    chosen = [find_plot(name) for name in dict.fromkeys(names)] or list(plots().values())
    source = Source(store, experiment, width)
    files: list[Path] = []
    left_out: dict[str, str] = {}
    for one in chosen:
        try:
            files += [save(each.figure, folder, each.name, format) for each in styled(partial(one.draw, source))]
        except NothingToDraw as reason:
            left_out[one.name] = str(reason)
    missed = [f"{name}: {reason}" for name, reason in left_out.items() if name in names or not files]
    if missed:
        raise InputError(f"plot: {store.name}: experiment {source.measured.experiment.name!r}: {'; '.join(missed)}")
    return Plotted(tuple(files), left_out)
