"""A panel a score: a bar for each model with its interval, the published value as a mark, the floors as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hashbench.papers.column import Column
from hashbench.papers.paper import Paper
from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.colours import look_of
from hashbench.plots.sheet import FLOOR_DASHES, INK, QUIET, SMALL, colour_of, plain_axes, sheet, tip
from hashbench.tables.fronts import label_of
from hashbench.tables.notes import warnings
from hashbench.tables.paper import printed_number
from hashbench.tables.table import Cell, Row

COLUMNS = {"single": 2, "double": 4}  # panels side by side
BAR = 0.125  # inches of height
AROUND = 0.5  # inches of a panel for its title and axis


def draw(data: FigureData) -> list[Drawn]:
    """One picture of all scores of the experiment's own table."""
    table = data.table
    columns = [one for one in table.columns if one.measure == "score" and one.unit == "percent" and one.better]
    rows = [row for row in table.rows if row.kind == "model" and _has(row, columns)]
    if not rows:
        raise NothingToDraw("no model has a score; finish its sweep")
    published = {
        (row.model, one.name): _published(data.paper, row, one) if data.request.published else None
        for row in rows
        for one in columns
    }
    shown = any(value is not None for value in published.values())
    floors = [row for row in table.rows if row.kind == "floor" and _has(row, columns)]
    across = min(COLUMNS[data.width], len(columns))
    lines = math.ceil(len(columns) / across)
    handles = [
        Line2D([], [], color=QUIET, lw=0.9, ls=dashes, label=row.model)
        for row, dashes in zip(floors, FLOOR_DASHES, strict=False)
    ]
    if shown:
        handles.append(Line2D([], [], color=INK, marker="d", ms=4, mfc="white", ls="none", label="published"))
    drawn = sheet(
        data,
        "tasks",
        "scores",
        body=(len(rows) * BAR + AROUND) * lines,
        shape=(lines, across),
        handles=handles,
        also=[_bars(rows, columns)],
        warnings=warnings(data.measured, data.paper, replace(table, published=True)) if shown else None,
        share="y",
    )
    for axes, column in zip(drawn.panels, columns, strict=False):
        _panel(axes, column, rows, floors, published)
    for axes in drawn.panels[len(columns) :]:
        axes.set_axis_off()
    return [drawn]


def _has(row: Row, columns: Sequence[Column]) -> bool:
    return any(row.cells[column.name].value is not None for column in columns)


def _published(paper: Paper, row: Row, column: Column) -> float | None:
    number = printed_number(paper, row.key or row.model, column.name)
    return number.value if number is not None and number.unit == "percent" else None


def _bars(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """What the whiskers are: intervals over examples where stored, else deviations over seeds."""
    cells = [row.cells[column.name] for row in rows for column in columns]
    if any(cell.interval is not None for cell in cells):
        return "whiskers: 95 % interval over examples"
    return "whiskers: sd over seeds" if any(cell.std is not None for cell in cells) else "one seed, no interval stored"


def _panel(
    axes: Axes,
    column: Column,
    rows: Sequence[Row],
    floors: Sequence[Row],
    published: dict[tuple[str, str], float | None],
) -> None:
    for place, row in enumerate(rows):
        cell = row.cells[column.name]
        if cell.value is None:
            axes.text(0, place, " missing", va="center", fontsize=SMALL - 1, color=QUIET)
        else:
            colour = colour_of(row.model)
            face = colour if look_of(row.model).filled else "white"
            (bar,) = axes.barh(place, cell.value, height=0.68, color=face, edgecolor=colour, linewidth=0.8)
            tip(bar, f"{label_of(row)}\n{_said(cell)}")
            axes.errorbar(cell.value, place, xerr=_whiskers(cell), fmt="none", ecolor=INK, elinewidth=0.7, capsize=1.4)
        mark = published[row.model, column.name]
        if mark is not None:
            look: Any = {"marker": "d", "ms": 3.6, "mfc": "white", "mec": INK, "mew": 0.7}
            (published_mark,) = axes.plot(mark, place, ls="none", clip_on=False, **look)
            tip(published_mark, f"{label_of(row)}, published\n{mark:g}")
    for floor, dashes in zip(floors, FLOOR_DASHES, strict=False):
        value = floor.cells[column.name].value
        if value is not None:
            tip(axes.axvline(value, color=QUIET, lw=0.9, ls=dashes, zorder=3), f"{floor.model}\n{value:.2f}")
    axes.set_yticks(range(len(rows)), [label_of(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the first model on top
    axes.tick_params(axis="y", length=0, labelleft=axes.get_subplotspec().is_first_col())  # type: ignore[union-attr]
    axes.set_title(column.title or column.name, fontweight="bold")
    axes.set_xlabel(column.subtitle)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    plain_axes(axes, grid="x")


def _said(cell: Cell) -> str:
    """A score with its interval over examples or its deviation over seeds."""
    if cell.interval is not None:
        return f"{cell.value:.2f} [{cell.interval[0]:.2f}, {cell.interval[1]:.2f}]"
    return f"{cell.value:.2f}" + (f" ± {cell.std:.2f}" if cell.std else "")


def _whiskers(cell: Cell) -> list[list[float]] | None:
    """Lengths to the left and to the right of a bar's end."""
    if cell.value is not None and cell.interval is not None:
        low, high = cell.interval
        return [[max(0.0, cell.value - low)], [max(0.0, high - cell.value)]]
    return None if cell.std is None else [[cell.std], [cell.std]]


PLOT = Plot("tasks", "bars per task with intervals, the published value as a mark", draw)
