"""Differences of models to the experiment's baseline with their intervals, a panel each average or task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, tip
from hashbench.results.plots.sheet import BESIDE, INK, QUIET, look_of, name_rows, sheet
from hashbench.results.tables.table import ComparedPairs, Table, floor_of

ROW = 0.15  # inches
AROUND = 0.55  # inches of a panel for its title and axis


def draw(data: FigureData) -> list[Drawn]:
    """One picture, with a panel for each named average and for each task that is in none."""
    table, baseline = data.table, data.measured.experiment.baseline
    compared = {pairs.column: pairs for pairs in table.pairs}
    columns = [column for column in _columns(table) if column.name in compared]
    columns = [column for column in columns if baseline in _names(compared[column.name])]
    if not columns:
        there = [row.title for row in table.rows if row.kind == "model"]
        remedy = "finish the sweep of two seeds"
        if baseline not in there:
            remedy = (
                f"it is the baseline, and no model of the experiment; write baseline: {there[0] if there else 'MODEL'}"
            )
        raise NothingToDraw(f"no column compares {baseline} with another model; {remedy}")
    shown = [row.title for row in table.rows if row.kind == "model" and row.title != baseline]
    names = [name for name in shown if any(name in _names(compared[column.name]) for column in columns)]
    drawn = sheet(
        data, "differences", f"differences to {baseline}", height=len(names) * ROW + AROUND, panels=len(columns),
        columns=BESIDE[data.width], share_y=True,
        also=[f"points above {baseline}, with 95 % intervals of each difference by itself",
              "dashed: the best trivial baseline, of an average the mean of each task's best", *data.of_colours],
    )  # fmt: skip
    for axes, column in zip(drawn.panels, columns, strict=True):
        _panel(data, axes, column, names, pairs=compared[column.name], baseline=baseline)
    return [drawn]


def _columns(table: Table) -> list[Column]:
    """The averages that the experiment names and the tasks that are in none; without these, the average."""
    named = [column for column in table.columns if column.measure == "average" and column.name != "average"]
    averaged = {task for column in named for task in column.tasks}
    if not named:
        return [column for column in table.columns if column.name == "average" or column.name == column.task]
    return [*named, *(of for of in table.columns if of.name == of.task and of.task not in averaged)]


def _names(pairs: ComparedPairs) -> list[str]:
    return [title for title, _ in pairs.rows]


def _panel(
    data: FigureData, axes: Axes, column: Column, names: Sequence[str], *, pairs: ComparedPairs, baseline: str
) -> None:
    here = _names(pairs)
    base = here.index(baseline)
    for place, name in enumerate(names):
        if name not in here or np.isnan(pairs.half_widths[here.index(name)][base]):
            continue
        at, colour = here.index(name), look_of(data, name)["color"]
        value, half = pairs.differences[at][base], pairs.half_widths[at][base]
        mark, *_ = axes.errorbar(
            value, place, xerr=half, fmt="o", ms=3.5, color=colour, ecolor=INK, elinewidth=0.8, capsize=1.6
        )
        ends = f"[{decimal_text(value - half, 1, '+')}, {decimal_text(value + half, 1, '+')}]"
        tip(mark, f"{name} minus {baseline}\n{decimal_text(value, 1, '+')} {ends}")
    axes.axvline(0, color=INK, lw=0.8, zorder=0)
    if floor := floor_of(column, data.table.columns, [row for row in data.table.rows if row.is_baseline]):
        line = axes.axvline(floor.value - pairs.means[base], zorder=0, color=QUIET, ls="--", lw=0.8)
        tip(line, f"{floor.name}\n{decimal_text(floor.value, 1)}")
    name_rows(axes, names)
    axes.tick_params(axis="y", labelleft=axes.get_subplotspec().is_first_col())  # type: ignore[union-attr]
    axes.set_title(column.title or column.name)
    axes.set_xlabel("points")


PLOT = Plot("differences", "differences to the baseline with intervals, the best trivial baseline as a line", draw)
