"""Scores by task, one panel each: a bar a model with its interval, published values as marks, baselines as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column, Paper
from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, label_of
from hashbench.results.plots.colours import look_of
from hashbench.results.plots.sheet import BESIDE, INK, QUIET, SMALL, colour_of, dashed, name_rows, sheet, tip
from hashbench.results.tables.notes import warnings
from hashbench.results.tables.paper import printed_number
from hashbench.results.tables.table import Cell, Row

BAR = 0.125  # inches of height
AROUND = 0.5  # inches of a panel for its title and axis
PUBLISHED: Any = {"color": INK, "marker": "d", "mfc": "white", "ls": "none"}


def draw(data: FigureData) -> list[Drawn]:
    """One picture, with a panel for each score of the experiment's own table."""
    table = data.table
    columns = [
        column for column in table.columns if column.measure == "score" and column.unit == "percent" and column.better
    ]
    scored = [row for row in table.rows if any(row.cells[column.name].value is not None for column in columns)]
    rows = [row for row in scored if row.kind == "model"]
    if not rows:
        raise NothingToDraw("no model has a score; finish its sweep")
    published = {
        column.name: [_published(data.paper, row, column) if data.request.published else None for row in rows]
        for column in columns
    }
    shown = any(value is not None for values in published.values() for value in values)
    baselines = [row for row in scored if row.is_baseline]
    looks = dashed(row.model for row in baselines)
    mark = [Line2D([], [], ms=4, label="published", **PUBLISHED)] if shown else []
    drawn = sheet(
        data,
        "tasks",
        "scores",
        height=len(rows) * BAR + AROUND,
        panels=len(columns),
        columns=BESIDE[data.width],
        baselines=looks,
        handles=mark,
        also=[_whiskers_words([row.cells[column.name] for row in rows for column in columns])],
        warnings=warnings(data.measured, data.paper, replace(table, published=True)) if shown else None,
        share_y=True,
    )
    for axes, column in zip(drawn.panels, columns, strict=True):
        _bars(axes, column, rows, published=published[column.name])
        _baselines(axes, column, baselines, looks=looks)
        axes.set_xlim(left=0)  # as bars begin, also where none is drawn
    return [drawn]


def _published(paper: Paper, row: Row, column: Column) -> float | None:
    number = printed_number(paper, row.key or row.model, column.name)
    return number.value if number is not None and number.unit == "percent" else None


def _whiskers_words(cells: Sequence[Cell]) -> str:
    """The meaning of the whiskers: intervals over examples where stored, else deviations over seeds."""
    if any(cell.interval is not None for cell in cells):
        return "whiskers: 95 % interval over examples"
    return "whiskers: sd over seeds" if any(cell.std is not None for cell in cells) else "one seed, no interval stored"


def _bars(axes: Axes, column: Column, rows: Sequence[Row], *, published: Sequence[float | None]) -> None:
    for place, (row, mark) in enumerate(zip(rows, published, strict=True)):
        cell = row.cells[column.name]
        if cell.value is None:
            axes.text(0, place, " missing", va="center", fontsize=SMALL - 1, color=QUIET)
        else:
            colour = colour_of(row.model)
            face = colour if look_of(row.model).filled else "white"
            (bar,) = axes.barh(place, cell.value, height=0.68, color=face, edgecolor=colour, linewidth=0.8)
            tip(bar, f"{label_of(row)}\n{_score(cell)}")
            axes.errorbar(cell.value, place, xerr=_whiskers(cell), fmt="none", ecolor=INK, elinewidth=0.7, capsize=1.4)
        if mark is not None:
            (line,) = axes.plot(mark, place, ms=3.6, mew=0.7, clip_on=False, **PUBLISHED)
            tip(line, f"{label_of(row)}, published\n{mark:g}")
    name_rows(axes, [label_of(row) for row in rows])
    axes.tick_params(axis="y", labelleft=axes.get_subplotspec().is_first_col())  # type: ignore[union-attr]
    axes.set_title(column.title or column.name, fontweight="bold")
    axes.set_xlabel(column.subtitle)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))


def _baselines(axes: Axes, column: Column, rows: Sequence[Row], *, looks: Mapping[str, dict[str, Any]]) -> None:
    for row in rows:
        value = row.cells[column.name].value
        if value is not None and row.model in looks:
            tip(axes.axvline(value, zorder=3, **looks[row.model]), f"{row.model}\n{decimal_text(value, 2)}")


def _score(cell: Cell) -> str:
    """A score as text, with its interval over examples or else its deviation over seeds."""
    value = decimal_text(cell.value or 0.0, 2)
    if cell.interval is not None:
        low, high = (decimal_text(end, 2) for end in cell.interval)
        return f"{value} [{low}, {high}]"
    return value + (f" ± {decimal_text(cell.std, 2)}" if cell.std else "")


def _whiskers(cell: Cell) -> list[list[float]] | None:
    """The whisker's lengths left and right of a bar's end, from the interval or the deviation; None without either."""
    if cell.value is not None and cell.interval is not None:
        low, high = cell.interval
        return [[max(0.0, cell.value - low)], [max(0.0, high - cell.value)]]
    return None if cell.std is None else [[cell.std], [cell.std]]


PLOT = Plot("tasks", "bars per task with intervals, the published value as a mark", draw)
