"""Recall at 1 of hidden items by decile of frequency, most frequent items first: Superbloom's figure 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from hashbench.common.showing import decimal_text
from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, label_of
from hashbench.results.plots.sheet import dashed, marker_of, plain_axes, sheet, tip
from hashbench.results.tables.table import Row, Table
from hashbench.scores.rankings import DECILES

HEIGHT = {"single": 1.9, "double": 2.9}  # inches of a panel
# Share of the distance between two deciles over which the models' points are side by side.
SPREAD = 0.5
TICKS = (0, 0.5, 1, 2, 5, 10, 20, 50, 100)  # percent


def draw(data: FigureData) -> list[Drawn]:
    """One picture, with a panel of recall by decile for each set of hidden items (page links or phrases)."""
    tables = [table for table in data.tables if any(column.name == "tenth=1" for column in table.columns)]
    if not tables:
        raise NothingToDraw("no recall by frequency; it is stored by sweeps on entities or phrases")
    rows = [row for table in tables for row in table.rows]
    baselines = dashed(row.model for row in rows if row.is_baseline)
    spread = any(any(_points(row)[2]) for row in rows)
    drawn = sheet(
        data,
        "deciles",
        "recall at 1 by frequency",
        height=HEIGHT[data.width],
        panels=len(tables),
        models=[row.model for row in rows if row.kind == "model"],
        baselines=baselines,
        also=["deciles have equal numbers of cases", *(["bars: sd over seeds"] if spread else [])],
    )
    for axes, table in zip(drawn.panels, tables, strict=True):
        _panel(axes, table, baselines)
    return [drawn]


def _panel(axes: Axes, table: Table, baselines: Mapping[str, dict[str, Any]]) -> None:
    models = [row for row in table.rows if row.kind == "model"]
    for index, row in enumerate(models):
        deciles, values, spread = _points(row)
        aside = SPREAD * ((index + 0.5) / len(models) - 0.5)
        points, _, _ = axes.errorbar(
            [decile + aside for decile in deciles], values, yerr=spread, lw=0.7, elinewidth=0.6, capsize=0,
            label=label_of(row), **marker_of(row.model, 3.2),
        )  # fmt: skip
        label = f"{label_of(row)}\ndecile"
        tip(
            points,
            *(f"{label} {decile}: {decimal_text(value, 2)}" for decile, value in zip(deciles, values, strict=True)),
        )
    for row in table.rows:
        if row.model in baselines:
            (line,) = axes.plot(*_points(row)[:2], zorder=1, **baselines[row.model])
            tip(line, row.model)
    # The rare half lies near zero, and may be zero.
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_yticks(TICKS, map("{:g}".format, TICKS))
    axes.set_yticks([], minor=True)
    axes.set_ylim(0, 1.25 * max(cell.value or 0.0 for row in table.rows for cell in row.cells.values()))
    axes.set_xticks(range(1, DECILES + 1))
    axes.set_xlabel("decile of the cases, most frequent items first")
    axes.set_ylabel("recall at 1, percent")
    plain_axes(axes, grid="y")


def _points(row: Row) -> tuple[list[int], list[float], list[float]]:
    """The deciles of a row that have a value, their values, and their deviations (0 where there is none)."""
    cells = {decile: row.cells[f"tenth={decile}"] for decile in range(1, DECILES + 1)}
    points = [(decile, cell.value, cell.std or 0.0) for decile, cell in cells.items() if cell.value is not None]
    return [decile for decile, _, _ in points], [value for _, value, _ in points], [spread for _, _, spread in points]


PLOT = Plot("deciles", "recall by frequency: Superbloom's figure 3", draw)
