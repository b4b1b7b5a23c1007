"""The sheet that a figure is drawn on: title and warnings above the panels, legend and small print below.

A sheet has the width of a paper's column or text. Letters have their size in print: include the file unscaled.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from hashbench.common.showing import decimal_text, printable
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import LABELLED_MODELS, MARKERS, SMALL, TITLE, Drawn, FigureData, tip
from hashbench.results.tables.numbers import without_details
from hashbench.results.tables.table import EACH_BEST, Table, scaled, table_floor

# Inches: a column and the text of ACL's style (7.7 and 16 cm).
WIDTHS = {"single": 3.03, "double": 6.30}
BESIDE = {"single": 2, "double": 4}  # small panels side by side
LOUD = "#b00020"
INK = "#222222"
QUIET = "#555555"
FRONT = "#777777"  # the line of a Pareto front
GREY = "#c9d6df"  # parts that are there for comparison only
FURTHER = "#aebbc5"  # models without a label: behind the others, and still there on dark ground
# Lines of the trivial baselines; tuples are lengths of strokes and gaps
DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))
NEAR_FLOOR = 0.5  # of the vertical range: a trivial baseline that is as near as this is put on the axis
LEAST_TICKS, MOST_TICKS = 3, 5  # labelled ones of a logarithmic axis, which may be that of a small panel
# Parts of a decade that are labelled, fewest first
PARTS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 2.0, 3.0, 5.0, 7.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
PROVENANCE_FACTS = ("encoder", "pre-training")  # of the provenance of a table
CHARACTERS = 22  # of small print in an inch
BOLD = 1.17  # bold letters are wider
LINE, LEGEND_LINE = 0.11, 0.12  # inches of a line of small print, and of the legend
HANDLE = 8  # letters that the line of a legend's entry is wide, with the space around it


def sheet(
    data: FigureData,
    name: str,
    title: str,
    *,
    height: float,
    panels: int = 1,
    columns: int = 1,
    models: Iterable[str] = (),
    handles: Sequence[Artist] = (),
    also: Sequence[str] = (),
    warnings: Sequence[str] | None = None,
    share_y: bool = False,
) -> Drawn:
    """A figure of the requested width with empty panels, at most `columns` side by side, each `height` inches.

    The legend holds `models` and `handles`, the small print begins with `also`. `warnings` None: those of the own
    table. `share_y`: the panels of a row have one vertical axis.
    """
    width, columns = WIDTHS[data.width], min(columns, panels)
    rows, models = math.ceil(panels / columns), list(models)
    handles = [*(Line2D([], [], label=model, lw=1.0, **look_of(data, model)) for model in models), *handles]
    beside = _legend_columns([str(handle.get_label()) for handle in handles], width)
    also = [*also, *(data.of_colours if models else [])]
    note, loud = _note(data, also), data.table.warnings if warnings is None else warnings
    heading = _wrapped(f"{data.measured.experiment.name}: {title}", width * SMALL / TITLE / BOLD) if data.alone else []
    warned = [line for text in loud for line in _wrapped(without_details(text), width / BOLD)] if data.alone else []
    notes = _wrapped(note, width) if data.alone else []
    top = (0.06 + 0.145 * len(heading) + LINE * len(warned)) if data.alone else 0.0
    bottom = LINE * len(notes) + 0.05 * data.alone
    legend = LEGEND_LINE * math.ceil(len(handles) / beside)
    whole = top + height * rows + legend + bottom

    figure = Figure(figsize=(width, whole), layout="constrained")
    FigureCanvasAgg(figure)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, (bottom + legend) / whole, 1, height * rows / whole), w_pad=0.03, h_pad=0.04)
    if data.alone:
        figure.text(0.01, 1 - 0.04 / whole, "\n".join(heading), va="top", fontsize=TITLE, fontweight="bold")
        under = 1 - (0.06 + 0.145 * len(heading)) / whole
        figure.text(0.01, under, "\n".join(warned), va="top", fontsize=SMALL, color=LOUD, fontweight="bold")
        figure.text(0.01, 0.04 / whole, "\n".join(notes), va="bottom", fontsize=SMALL, color=QUIET)
    if handles:
        figure.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, bottom / whole), ncols=beside, frameon=False,
            handlelength=1.8, columnspacing=1.0, labelspacing=0.25, handletextpad=0.5, borderaxespad=0.1,
        ).set_in_layout(False)  # fmt: skip
    places = figure.subplots(rows, columns, squeeze=False, sharey="row" if share_y else False).flat
    for axes in places[panels:]:
        axes.set_axis_off()
    return Drawn(name, title, note, figure, tuple(places[:panels]))


def _wrapped(text: str, width: float) -> list[str]:
    """The lines of a text in small print that are at most so many inches long."""
    return textwrap.wrap(text, int(width * CHARACTERS))


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """The number of columns of a legend with these labels that fit into so many inches, in rows of equal length."""
    fitting = [
        columns for columns in range(2, min(len(labels), 6) + 1) if _letters(labels, columns) <= width * CHARACTERS
    ]
    if not fitting:
        return 1
    rows = math.ceil(len(labels) / fitting[-1])
    return next(columns for columns in fitting if math.ceil(len(labels) / columns) == rows)


def _letters(labels: Sequence[str], columns: int) -> int:
    return sum(HANDLE + max(map(len, part)) for part in np.array_split(np.array(labels), columns))


def _note(data: FigureData, also: Sequence[str]) -> str:
    """The small print in one sentence: explanations and seeds; encoder and pre-training, if no page has them once."""
    seeds = sorted({run.seed for run in data.measured.runs if run.is_scored and run.seed is not None})
    facts = [f"seeds {', '.join(map(str, seeds))}"] if seeds else []
    named = PROVENANCE_FACTS if data.alone else ()
    facts += [f"{what}: {value}" for what, value in data.table.provenance if what in named and value[:5] != "none "]
    return "; ".join([*also, *facts]) + "."


def look_of(data: FigureData, model: str, size: float = 4.2, labelled: Iterable[str] | None = None) -> dict[str, Any]:
    """The colour and marker of a model, as keyword arguments of matplotlib's `plot`; grey if it is not `labelled`."""
    if labelled is not None and model not in labelled:
        return {"color": FURTHER, "marker": "o", "markersize": 0.6 * size, "zorder": 1.5}
    colour, marker = data.looks.get(model, (QUIET, "o"))  # of another program
    # Hollow but for the first of a colour, since small markers on lines differ little in shape
    face = colour if marker == MARKERS[0] else "white"
    return {"color": colour, "marker": marker, "markersize": size, "markerfacecolor": face}


def labelled_models(data: FigureData, models: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """The models that a figure labels, in their order: all, or of many the baseline, `first`, and the best."""
    models = list(dict.fromkeys(models))
    ranked = dict.fromkeys([data.measured.experiment.baseline, *first, *data.best_first, *models])
    chosen = [model for model in ranked if model in models][:LABELLED_MODELS]
    return [model for model in models if model in chosen]


def on_grey(models: Iterable[str], labelled: Sequence[str]) -> list[str]:
    """The sentence of small print on the models that a figure does not label; none where it labels all."""
    n = len(set(models) - set(labelled))
    return [f"grey: {n} further"] if n else []


def dashed(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Keyword arguments of matplotlib's `plot` for the dashed line of each trivial baseline, by name."""
    return {
        name: {"color": QUIET, "lw": 0.9, "ls": DASHES[place % len(DASHES)], "marker": ""}
        for place, name in enumerate(dict.fromkeys(names))
    }


def baseline_scores(table: Table, score: str) -> dict[str, float]:
    """The scores of the trivial baselines of a table in percent, by name; of an average its floor, or none."""
    column = next((column for column in table.columns if column.name == score), None)
    if column is not None and column.measure == "average":
        floor = table_floor(table, column)
        return {} if floor is None else {floor.name: floor.value}
    cells = {row.model: row.cells[score].value for row in table.rows if row.is_baseline}
    return {model: value for model, value in cells.items() if value is not None}


def baseline_lines(scores: Mapping[str, float]) -> list[Line2D]:
    """Entries of a legend: the line of each trivial baseline, with its score."""
    looks = dashed(scores)
    return [Line2D([], [], label=_baseline_label(name, scores[name]), **look) for name, look in looks.items()]


def _baseline_label(name: str, score: float) -> str:
    return f"{'best trivial baselines' if name == EACH_BEST else name} {decimal_text(score, 1)}"


def draw_baselines(axes: Axes, scores: Mapping[str, float]) -> None:
    """Draws the lines of the trivial baselines within the vertical range or near it, which is widened for them.

    The legend has the score of all, and names those that are too far away to be drawn.
    """
    low, high = axes.get_ylim()
    reach, margin = NEAR_FLOOR * (high - low), 0.04 * (high - low)
    near = [score for score in scores.values() if low - reach <= score <= high + reach]
    axes.set_ylim(min([low, *(score - margin for score in near)]), max([high, *(score + margin for score in near)]))
    for (name, look), score in zip(dashed(scores).items(), scores.values(), strict=True):
        if score in near:
            tip(axes.axhline(score, zorder=0, **look), f"{name}\n{decimal_text(score, 2)}")
            continue
        for text in [text for legend in axes.figure.legends for text in legend.get_texts()]:
            if text.get_text() == _baseline_label(name, score):
                text.set_text(f"{text.get_text()}, off the axis")


def count_of(value: float) -> str:
    """A count with three digits and its unit.

    >>> count_of(20_000), count_of(1e7), count_of(100), count_of(0)
    ('20K', '10M', '100', '0')
    """
    count, unit = scaled(value) if value >= 1000 else (value, "")
    return f"{count:.3g}{unit}"


def log_ticks(low: float, high: float) -> list[float]:
    """The ticks of a logarithmic axis that are labelled: at least three of an axis that does not begin at 0.

    >>> log_ticks(2_000, 3e7), log_ticks(270_000, 1_050_000)
    ([10000.0, 100000.0, 1000000.0, 10000000.0], [300000.0, 500000.0, 700000.0, 1000000.0])
    >>> log_ticks(40, 50)
    [40.0, 42.5, 45.0, 47.5, 50.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in PARTS:
        ticks = [value for decade in decades for part in parts if low <= (value := part * 10.0**decade) <= high]
        if len(ticks) >= LEAST_TICKS:
            return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
    return [float(value) for value in MaxNLocator(MOST_TICKS - 1).tick_values(low, high) if low <= value <= high]


def show_log_ticks(axes: Axes, text: Callable[[float], str]) -> None:
    """Makes the horizontal axis logarithmic, with at least three labels. To be called when all is drawn."""
    axes.set_xscale("log")
    axes.set_xticks(log_ticks(*axes.get_xlim()))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def show_counts(axes: Axes) -> None:
    """Writes the numbers of a horizontal axis as counts with units, at its larger ticks alone."""
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_of(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def score_axis(axes: Axes, column: Column, least: float) -> None:
    """Names the vertical axis after the score, and lets it span at least `least` percent."""
    axes.set_ylabel("average score, percent" if column.tasks else f"{column.name}, percent")
    axes.grid(True)
    widen(axes, least)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names the rows of a panel at its left, the first one on top."""
    axes.set_yticks(range(len(names)), [printable(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")


def widen(axes: Axes, least: float) -> None:
    """Widens the vertical range to at least `least`, so that noise in the last digit does not fill a plot."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)
