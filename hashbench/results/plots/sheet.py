"""The sheet that a figure is drawn on: a title and warnings above panels, a legend and small print below.

A sheet has the width of a paper's column or text, and the height that its parts need. Letters have their size in print:
include the file unscaled.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter
from matplotlib.transforms import Bbox

from hashbench.common.errors import InputError
from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import Drawn, FigureData, ImageFormat, score_column
from hashbench.results.plots.colours import COLOURS, MARKERS, look_of
from hashbench.results.tables.numbers import without_details
from hashbench.results.tables.table import Table, scaled, table_floor

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
MOST = 10  # models that a figure labels; lines and points of further ones are grey
NAMED = ("encoder", "pre-training")  # of the provenance of a table
# Characters of one point size: n points give 2.15 * 72 / n in an inch of small print.
PER_INCH = 2.15
DPI = 300  # of PNG
BEGINS = {"png": b"\x89PNG", "pdf": b"%PDF"}  # first bytes of files
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


def labelled(scores: Mapping[str, float], first: Iterable[str] = ()) -> list[str]:
    """The names that a figure labels, in their order: all, or of more than `MOST` those of `first`, then the best.

    >>> labelled({"a": 3.0, "b": 2.0, "c": 1.0})
    ['a', 'b', 'c']
    >>> labelled({f"m{n}": float(n) for n in range(14)}, ["m0"])
    ['m0', 'm5', 'm6', 'm7', 'm8', 'm9', 'm10', 'm11', 'm12', 'm13']
    """
    ranked = [*first, *sorted(scores, key=lambda name: -scores[name])]
    chosen = set(list(dict.fromkeys(ranked))[:MOST])
    return [name for name in scores if name in chosen] if len(scores) > MOST else list(scores)


def labelled_models(data: FigureData, models: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """Those of the models that a figure labels: the baseline, `first`, and the best by the table's score."""
    column = score_column(data.table)
    scores: dict[str, float | None] = {}
    for row in data.table.rows:
        if column and row.kind == "model":
            scores.setdefault(row.model, row.cells[column].value)
    by_model = {model: -math.inf if (score := scores.get(model)) is None else score for model in models}
    baseline = data.measured.experiment.baseline
    return labelled(by_model, [*([baseline] if baseline in by_model else []), *first])


def muted(size: float = 2.4) -> dict[str, Any]:
    """Keyword arguments of matplotlib's `plot` for a model beyond those that a figure labels."""
    return {"color": GREY, "marker": "o", "markersize": size, "markeredgewidth": 0.0, "zorder": 1.5}


def on_grey(models: Sequence[str], labels: Sequence[str]) -> list[str]:
    """The sentence of small print on the models that a figure does not label; none where it labels all."""
    n = len(set(models) - set(labels))
    return [f"grey: {n} further"] if n else []


def dashed(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Keyword arguments of matplotlib's `plot` for the dashed line of each trivial baseline, by name."""
    pairs = zip(dict.fromkeys(names), DASHES, strict=False)
    return {name: {"color": QUIET, "lw": 0.9, "ls": dashes} for name, dashes in pairs}


def baseline_scores(table: Table, score: str) -> dict[str, float]:
    """The scores of the trivial baselines of a table in percent, by name; of an average its floor, or none."""
    column = next((column for column in table.columns if column.name == score), None)
    if column is not None and column.measure == "average":
        floor = table_floor(table, column)
        return {} if floor is None else {floor.name: floor.value}
    cells = {row.model: row.cells[score].value for row in table.rows if row.is_baseline}
    return {model: value for model, value in cells.items() if value is not None}


def dashed_levels(axes: Axes, levels: Mapping[str, float]) -> None:
    """Draws a dashed line at each of the scores; one outside of the plot is named at the lower edge."""
    low, high = axes.get_ylim()
    outside, inside = [], []
    for model, value in levels.items():
        name = f"{model} {decimal_text(value, 1)}"
        if not low <= value <= high:
            outside.append(f"{name} ({'below' if value < low else 'above'})")
            continue
        tip(axes.axhline(value, color=QUIET, ls="--", lw=0.8, zorder=0), f"{model}\n{decimal_text(value, 2)}")
        inside.append((name, (value - low) / (high - low)))
    axes.set_ylim(low, high)
    if inside or outside:
        drawn: Any = axes.figure  # a whole figure
        drawn.draw_without_rendering()  # places are known once the layout is made
        for name, at in inside:
            _write_free(axes, name, [(side, at, dy) for side in (0.99, 0.01, 0.5) for dy in (2.0, -2.0)])
        _write_free(
            axes, ", ".join(outside), [(side, end, 2.0 - 4 * end) for end in (0.0, 1.0) for side in (0.99, 0.01)]
        )


PARTS = 40  # of a line between two of its points


def _write_free(axes: Axes, text: str, places: Sequence[tuple[float, float, float]]) -> None:
    """Writes a text at the first place (x and y of the axes, points up) that covers no point, else above the axes."""
    boxes, renderer = occupied(axes), axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes += [other.get_window_extent(renderer) for other in axes.texts if other.get_text()]
    for x, y, up in [*places, (0.99, 1.0, 2.0)] if text else []:
        side: Any = {0.99: "right", 0.01: "left"}.get(x, "center")
        note = axes.annotate(
            text, (x, y), xycoords="axes fraction", xytext=(0, up), textcoords="offset points", fontsize=SMALL,
            color=QUIET, ha=side, va="bottom" if up > 0 else "top",
        )  # fmt: skip
        note.set_in_layout(False)
        if y == 1.0 and up > 0 or not note.get_window_extent(renderer).count_overlaps(boxes):
            return
        note.remove()


def occupied(axes: Axes) -> list[Bbox]:
    """Boxes in pixels of all points, error bars and lines that are drawn in the data's coordinates."""
    dot = axes.figure.dpi / 72
    boxes = []
    for line in axes.lines:
        if line.get_transform() != axes.transData:
            continue
        pixels = [tuple(pair) for pair in axes.transData.transform(line.get_xydata())]
        if line.get_drawstyle() == "steps-post":  # a Pareto front
            pixels = [corner for at, after in pairwise([*pixels, pixels[-1]]) for corner in (at, (after[0], at[1]))]
        reach = dot * (1 + line.get_markersize() / 2 if line.get_marker() not in ("None", "", None) else 1)
        if line.get_linestyle() != "None":
            pixels += [
                (x + (next_x - x) * part / PARTS, y + (next_y - y) * part / PARTS)
                for (x, y), (next_x, next_y) in pairwise(pixels) for part in range(1, PARTS)
            ]  # fmt: skip
        boxes += [Bbox([(x - reach, y - reach), (x + reach, y + reach)]) for x, y in pixels if x == x and y == y]
    for collection in axes.collections:
        if isinstance(collection, LineCollection):
            for (x, y), *_, (end_x, end_y) in map(axes.transData.transform, collection.get_segments()):
                boxes.append(Bbox([(min(x, end_x) - dot, min(y, end_y)), (max(x, end_x) + dot, max(y, end_y))]))
    return boxes


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
    dashed_levels(axes, baseline_scores(table, column.name))


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
    """Writes a picture to a file of the folder and returns its path. Raises InputError where another file is there."""
    path = folder / f"{drawn.name}.{format}"
    if path.is_file() and path.stat().st_size and not _is_figure(path, format):
        raise InputError(f"--output {folder}: {path.name} is there already, and is no figure; name another folder")
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


def _is_figure(path: Path, format: ImageFormat) -> bool:
    """True for a file that begins as those of its format do."""
    with path.open("rb") as file:
        head = file.read(1024)
    return b"<svg" in head if format == "svg" else head.startswith(BEGINS[format])


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
