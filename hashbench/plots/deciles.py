"""Recall at 1 by tenth of the cases, most frequent items first: Superbloom's figure 3."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.sheet import FLOOR_DASHES, QUIET, marker_of, plain_axes, sheet, tip
from hashbench.retrieval import TENTHS
from hashbench.tables.fronts import label_of
from hashbench.tables.table import Row, Table

BODY = {"single": 1.9, "double": 2.9}  # inches of a panel
SPREAD = 0.5  # of the distance between two tenths, over which the models' points stand side by side


def draw(data: FigureData) -> list[Drawn]:
    """A panel for each page-link set."""
    found = [table for table in data.tables if _tenths(table)]
    if not found:
        raise NothingToDraw("no recall by frequency; it is stored by sweeps on entities or phrases")
    rows = [row for table in found for row in table.rows]
    floors = list(dict.fromkeys(row.model for row in rows if row.kind == "floor"))
    styles = dict(zip(floors, FLOOR_DASHES, strict=False))
    drawn = sheet(
        data,
        "deciles",
        "recall at 1 by frequency",
        body=BODY[data.width] * len(found),
        shape=(len(found), 1),
        models=[row.model for row in rows if row.kind == "model"],
        handles=[Line2D([], [], color=QUIET, lw=0.9, ls=dashes, label=name) for name, dashes in styles.items()],
        also=["tenths have equal numbers of cases", "bars: sd over seeds"],
    )
    for axes, table in zip(drawn.panels, found, strict=True):
        _panel(axes, table, styles)
    return [drawn]


def _tenths(table: Table) -> bool:
    return any(column.name.startswith("tenth=") for column in table.columns)


def _panel(axes: Axes, table: Table, styles: dict[str, str]) -> None:
    models = [row for row in table.rows if row.kind == "model"]
    for index, row in enumerate(models):
        aside = SPREAD * ((index + 0.5) / len(models) - 0.5)
        places, values, spread = _points(row, aside)
        points, _, _ = axes.errorbar(
            places, values, yerr=spread, lw=0.7, elinewidth=0.6, capsize=0, label=label_of(row),
            **{**marker_of(row.model), "markersize": 3.2},
        )  # fmt: skip
        label = f"{label_of(row)}\ndecile"
        tip(points, *(f"{label} {round(at)}: {value:.2f}" for at, value in zip(places, values, strict=True)))
    for row in table.rows:
        if row.model in styles:
            places, values, _ = _points(row, 0.0)
            (line,) = axes.plot(places, values, color=QUIET, lw=0.9, ls=styles[row.model], zorder=1)
            tip(line, row.model)
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)  # the rare half lies near zero, and may be zero
    axes.set_yticks([0, 0.5, 1, 2, 5, 10, 20, 50, 100], ["0", "0.5", "1", "2", "5", "10", "20", "50", "100"])
    axes.set_yticks([], minor=True)
    axes.set_ylim(0, 1.25 * max(cell.value or 0.0 for row in table.rows for cell in row.cells.values()))
    axes.set_xticks(range(1, TENTHS + 1))
    axes.set_xlabel("tenth of the cases, most frequent items first")
    axes.set_ylabel("recall at 1, percent")
    plain_axes(axes, grid="y")


def _points(row: Row, aside: float) -> tuple[list[float], list[float], list[float]]:
    """Places, values and deviations of the tenths that have a value."""
    known = [(tenth, row.cells[f"tenth={tenth}"]) for tenth in range(1, TENTHS + 1)]
    found = [(tenth + aside, cell.value, cell.std or 0.0) for tenth, cell in known if cell.value is not None]
    return [one[0] for one in found], [one[1] for one in found], [one[2] for one in found]


PLOT = Plot("deciles", "recall by frequency: Superbloom's figure 3", draw)
