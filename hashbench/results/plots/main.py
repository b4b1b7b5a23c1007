"""`hashbench plot`: figures of an experiment, as files or as parts of an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.text import Text

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import printable
from hashbench.results.plots.base import STYLE, Drawn, FigureData, ImageFormat, NothingToDraw, Width, find_plot, plots
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.store.engine import Store
from hashbench.store.status import experiment_names


@dataclass(frozen=True)
class Plotted:
    """The files of the figures that were drawn, and why others were left out, by name."""

    files: tuple[Path, ...]
    left_out: dict[str, str]


def plot(
    store: Store,
    names: Sequence[str] = (),
    *,
    experiment: str | None = None,
    folder: Path,
    format: ImageFormat = "png",
    width: Width = "double",
) -> Plotted:
    """Draws the named figures, or all that the experiment (None: the one swept last) has data for.

    One of the names may be the experiment's, if no figure has it.
    Raises InputError for an unknown name, for a named figure without data, and where nothing at all can be drawn.
    """
    if folder.exists() and not folder.is_dir():  # an error before anything is drawn
        raise InputError(f"--output {folder}: is a file; name a folder")
    named = [name for name in names if name not in plots() and name in experiment_names(store)]
    if len(several := [*named, *([experiment] if experiment else [])]) > 1:
        raise InputError(f"plot: figures are of one experiment; given are {' and '.join(several)}")
    experiment, names = next(iter(several), None), [name for name in names if name not in named]
    for name in names:
        hint = near_match(name, list(experiment_names(store)))
        if name not in plots() and hint and not near_match(name, list(plots())):
            raise InputError(f"plot: neither a figure nor an experiment is called {name!r}{hint}")
    chosen = [find_plot(name).name for name in dict.fromkeys(names)] or list(plots())
    data = FigureData(store, ReportRequest(experiment, examples=True), width)
    files: list[Path] = []
    left_out: dict[str, str] = {}
    for name in chosen:
        try:
            files += [picture.save(folder, format) for picture in draw(name, data)]
        except NothingToDraw as reason:
            left_out[name] = str(reason)
    missed = [f"{name}: {reason}" for name, reason in left_out.items() if name in names or not files]
    if missed:
        raise InputError(f"plot: {store.name}: experiment {data.measured.experiment.name!r}: {'; '.join(missed)}")
    return Plotted(tuple(files), left_out)


def page_figures(
    source: ReportSource,
    tell: Callable[[str], None] = lambda line: None,
    *,
    names: Sequence[str] = (),
    width: Width = "single",
) -> Iterator[Drawn]:
    """The named figures for a page, or all that the experiment has data for; those with few panels come first.

    Nothing is drawn before the first is read. `tell` is called with a line before each figure is drawn.
    """
    data = FigureData(
        source.store, source.request, width, alone=False,
        read_before=source.measured, drawn_before=source.draws, made_before=source.made_before,
    )  # fmt: skip
    chosen = names or list(plots())
    drawn: list[Drawn] = []
    for number, name in enumerate(chosen, 1):
        tell(f"figure {number} of {len(chosen)}: {name} ...")
        with suppress(NothingToDraw):
            drawn += draw(name, data)
    yield from sorted(drawn, key=lambda picture: len(picture.panels))


def draw(name: str, data: FigureData) -> list[Drawn]:
    """The pictures of the named figure, in the style that all figures share. Raises NothingToDraw."""
    with matplotlib.rc_context(STYLE):
        pictures = find_plot(name).draw(data)
    for picture in pictures:
        for text in picture.figure.findobj(Text):  # names from a database elsewhere; SVG holds no control character
            text.set_text(printable(text.get_text()))
    return pictures
