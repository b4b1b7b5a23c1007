"""The sheet that a figure is drawn on: a title and warnings above panels, a legend and small print below.

A sheet has the width of a paper's column or text, and the height that its parts need. Letters have their size in print:
include the file unscaled.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import Drawn, FigureData, ImageFormat
from hashbench.results.plots.colours import COLOURS, MARKERS, look_of
from hashbench.results.tables.numbers import without_details
from hashbench.results.tables.table import Table, scaled

# Inches: a column and the text of ACL's style (7.7 and 16 cm).
WIDTHS = {"single": 3.03, "double": 6.30}
BESIDE = {"single": 2, "double": 4}  # small panels side by side
TITLE, TEXT, SMALL = 8.0, 7.0, 6.0  # points
LOUD = "#b00020"
INK = "#222222"
QUIET = "#555555"
FRONT = "#777777"  # the line of a Pareto front
GREY = "#c9d6df"  # parts that are there for comparison only
GRID = "#d9d9d9"
DASHES = ("--", ":", "-.")  # lines of the trivial baselines
BOLD = 1.17  # bold letters are wider
NAMED = ("encoder", "pre-training")  # of the provenance of a table
# Characters of one point size: n points give 2.15 * 72 / n in an inch of small print.
PER_INCH = 2.15
DPI = 300  # of PNG
# Font type 42 is one that a publisher can embed; the salt makes an SVG the same every time.
STYLE: Any = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": TEXT, "axes.titlesize": TEXT,
    "axes.labelsize": TEXT, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "legend.fontsize": SMALL,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "axes.axisbelow": True, "pdf.fonttype": 42, "svg.hashsalt": "hashbench",
}  # fmt: skip


def sheet(
    data: FigureData,
    name: str,
    title: str,
    *,
    height: float,
    panels: int | Sequence[int] = 1,
    columns: int = 1,
    models: Iterable[str] = (),
    baselines: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    handles: Sequence[Artist] = (),
    also: Sequence[str] = (),
    warnings: Sequence[str] | None = None,
    share_y: bool = False,
) -> Drawn:
    """A figure of the requested width with empty panels, at most `columns` side by side, each `height` inches.

    Of panels in groups each group begins a row.

    The legend holds `models`, `baselines` (see `dashed`) and `handles`, the small print begins with `also`. `warnings`
    None: those of the own table. `share_y`: the panels of a row have one vertical axis.
    """
    groups = [panels] if isinstance(panels, int) else list(panels)
    columns = min(columns, max(groups))
    rows = [math.ceil(group / columns) for group in groups]
    body = height * sum(rows)
    figure = Figure(figsize=(WIDTHS[data.width], body), layout="constrained")
    FigureCanvasAgg(figure)
    loud = data.table.warnings if warnings is None else warnings
    note = _note(data, also)
    top = _head(figure, f"{data.measured.experiment.name}: {title}", loud) if data.alone else 0.0
    lines = [Line2D([], [], label=name, **look) for name, look in baselines.items()]
    legend, under = _legend(figure, [*map(handle_of, dict.fromkeys(models)), *lines, *handles])
    bottom = _foot(figure, note) if data.alone else 0.0
    _stack(figure, legend, top=top, body=body, under=under, bottom=bottom)
    return Drawn(name, title, note, figure, tuple(_panels(figure, groups, rows, columns=columns, share_y=share_y)))


def _stack(figure: Figure, legend: Legend | None, *, top: float, body: float, under: float, bottom: float) -> None:
    """Sets the figure's height to the sum of its parts (inches), and positions head, panels, legend and foot."""
    whole = top + body + under + bottom
    figure.set_size_inches(figure.get_figwidth(), whole)
    for text in figure.texts:
        x, inches = text.get_position()
        text.set_position((x, (inches if inches > 0 else whole + inches) / whole))
    if legend is not None:
        legend.set_bbox_to_anchor((0.01, bottom / whole), transform=figure.transFigure)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, (bottom + under) / whole, 1, body / whole), w_pad=0.03, h_pad=0.04)


def _panels(
    figure: Figure, groups: Sequence[int], rows: Sequence[int], *, columns: int, share_y: bool
) -> Iterator[Axes]:
    """The empty panels of all groups; each group begins a row and fills its number of `rows`."""
    grid = figure.subplots(sum(rows), columns, squeeze=False, sharey="row" if share_y else False)
    for group, n, first in zip(groups, rows, accumulate([0, *rows[:-1]]), strict=True):
        places = grid[first : first + n].flat
        yield from places[:group]
        for axes in places[group:]:
            axes.set_axis_off()


def tip(artist: Artist, *texts: str) -> None:
    """Sets the text that a page shows when the pointer rests on an artist: one, or one for each of its markers."""
    artist.set_gid(json.dumps(texts))


def styled(draw: Callable[[], list[Drawn]]) -> list[Drawn]:
    """The pictures that `draw` returns, drawn in the style that all figures share."""
    with matplotlib.rc_context(STYLE):
        return draw()


def handle_of(model: str) -> Line2D:
    """A model's line in a legend."""
    return Line2D([], [], label=model, lw=1.0, **marker_of(model))


def marker_of(model: str, size: float = 4.2) -> dict[str, Any]:
    """The colour and marker of a model, as keyword arguments of matplotlib's `plot`."""
    look, colour = look_of(model), colour_of(model)
    return {
        "color": colour, "marker": MARKERS[look.marker], "markersize": size, "markeredgewidth": 0.8,
        "markeredgecolor": colour, "markerfacecolor": colour if look.filled else "white",
    }  # fmt: skip


def colour_of(model: str) -> str:
    """The colour of a model, without its marker."""
    return COLOURS[look_of(model).colour]


def dashed(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Keyword arguments of matplotlib's `plot` for the dashed line of each trivial baseline, by name."""
    pairs = zip(dict.fromkeys(names), DASHES, strict=False)
    return {name: {"color": QUIET, "lw": 0.9, "ls": dashes} for name, dashes in pairs}


def baseline_levels(axes: Axes, table: Table, score: str) -> None:
    """Draws a dashed line at each trivial baseline's score; one outside of the plot is named at the lower edge."""
    low, high = axes.get_ylim()
    outside = []
    for row in table.rows:
        value = row.cells[score].value
        if not row.is_baseline or value is None:
            continue
        name = f"{row.model} {value:.1f}"
        if not low <= value <= high:
            outside.append(f"{name} ({'below' if value < low else 'above'})")
            continue
        tip(axes.axhline(value, color=QUIET, ls="--", lw=0.8, zorder=0), f"{row.model}\n{value:.2f}")
        axes.annotate(
            name, (0.99, value), xycoords=("axes fraction", "data"), xytext=(0, 2), ha="right",
            textcoords="offset points", fontsize=SMALL, color=QUIET,
        )  # fmt: skip
    axes.annotate(", ".join(outside), (0.99, 0.015), xycoords="axes fraction", ha="right", fontsize=SMALL, color=QUIET)
    axes.set_ylim(low, high)


def plain_axes(axes: Axes, *, grid: str = "both") -> None:
    """Draws light grid lines behind the plot. `grid`: both, x, y."""
    axes.grid(True, axis=grid, color=GRID, linewidth=0.5)  # type: ignore[arg-type]


def count_of(value: float) -> str:
    """A count with three digits and its unit.

    >>> count_of(20_000), count_of(1e7), count_of(0)
    ('20K', '10M', '0')
    """
    count, unit = scaled(value)
    return f"{count:.3g}{unit}" if value else "0"


def log_scores(axes: Axes, table: Table, column: Column, places: Iterable[float], *, along: str, least: float) -> None:
    """Sets up axes of score over a logarithmic size with ticks at `places`, spanning at least `least` percent."""
    axes.set_xscale("log")
    axes.set_xticks(sorted(set(places)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_of(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(along)
    axes.set_ylabel("average score, percent" if column.tasks else f"{column.name}, percent")
    widen(axes, least)
    plain_axes(axes)
    baseline_levels(axes, table, column.name)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names the rows of a panel at its left, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    plain_axes(axes, grid="x")


def widen(axes: Axes, least: float) -> None:
    """Widens the vertical range to at least `least`, so that noise in the last digit does not fill a plot."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)


def save(drawn: Drawn, folder: Path, format: ImageFormat) -> Path:
    """Writes a picture to a file of the folder and returns its path."""
    path = folder / f"{drawn.name}.{format}"
    # The same figure is the same file.
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    for artist in drawn.figure.findobj():
        artist.set_gid(None)  # tips are for pages
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            drawn.figure.savefig(path, dpi=DPI, metadata=dated[format])
    except OSError as error:
        raise InputError(f"--output {folder}: {error.strerror}; give a folder that can be written") from error
    return path


def _lines(figure: Figure, texts: Sequence[str], size: float) -> list[str]:
    room = int((figure.get_figwidth() - 0.08) * PER_INCH * 72 / size * 0.91)
    return [line for text in texts for line in textwrap.wrap(text, room)]


def _head(figure: Figure, title: str, warnings: Sequence[str]) -> float:
    """Writes title and warnings at the top of the figure; returns their height in inches."""
    titles = _lines(figure, [title], TITLE * BOLD)
    loud = _lines(figure, [without_details(warning) for warning in warnings], SMALL * BOLD)
    depth = 0.04 + 0.145 * len(titles)
    figure.text(0.01, -0.04, "\n".join(titles), va="top", fontsize=TITLE, fontweight="bold")
    if loud:
        figure.text(0.01, -depth - 0.02, "\n".join(loud), va="top", fontsize=SMALL, color=LOUD, fontweight="bold")
    return depth + 0.05 + 0.108 * len(loud)


def _note(data: FigureData, also: Sequence[str]) -> str:
    """The small print in one sentence: explanations, seeds, encoder and pre-training."""
    seeds = sorted({run.seed for run in data.measured.runs if run.is_scored and run.seed is not None})
    facts = [f"seeds {', '.join(map(str, seeds))}"] if seeds else []
    facts += [f"{what}: {value}" for what, value in data.table.provenance if what in NAMED and value[:5] != "none "]
    return "; ".join([*also, *facts]) + "."


def _foot(figure: Figure, note: str) -> float:
    """Writes the small print at the bottom of the figure; returns its height in inches."""
    lines = _lines(figure, [note], SMALL)
    figure.text(0.01, 0.04, "\n".join(lines), va="bottom", fontsize=SMALL, color=QUIET)
    return 0.08 + 0.11 * len(lines)


def _legend(figure: Figure, handles: Sequence[Artist]) -> tuple[Legend | None, float]:
    """Draws the legend in as many columns as fit; returns it with its height in inches."""
    if not handles:
        return None, 0.0
    for columns in range(min(len(handles), 6), 0, -1):
        legend = figure.legend(
            handles=list(handles), loc="lower left", ncols=columns, frameon=False, borderaxespad=0.2, handlelength=1.8,
            columnspacing=1.0, labelspacing=0.25, handletextpad=0.5,
        )  # fmt: skip
        legend.set_in_layout(False)
        box = legend.get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
        if box.width <= 0.98 * figure.bbox.width or columns == 1:
            return legend, box.height / figure.dpi + 0.03
        legend.remove()
    raise AssertionError("one column is always taken")
