"""The figures of the page as numbers; the script draws them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.colours import COLOURS, look_of
from hashbench.results.curves import curves
from hashbench.results.measured import Measured
from hashbench.results.rates import SPREAD, RateLine, by_panel
from hashbench.tables.fronts import COSTS, front, points_of, score_column
from hashbench.tables.table import Table

POINTS = 60  # of a curve at most: more than a small panel can show
DIGITS = 5  # significant ones of a number that is only drawn


def charts(measured: Measured, own: Table, rates: Sequence[RateLine]) -> list[dict[str, Any]]:
    """Every figure of which something is stored: kind, title, panels; each panel with its series by model."""
    found = [_pareto(own), *_curves(measured), _robustness(rates)]
    return [chart for chart in found if chart["panels"]]


def looks(models: Sequence[str]) -> dict[str, list[int]]:
    """Colour, marker, and whether it is filled (1 or 0), by model."""
    found = {model: look_of(model) for model in dict.fromkeys(models)}
    return {model: [look.colour % len(COLOURS), look.marker, int(look.filled)] for model, look in found.items()}


def _pareto(table: Table) -> dict[str, Any]:
    """A panel a cost: points (cost, score, deviation), and the names on the front."""
    panels = []
    for cost in COSTS:
        points = points_of(table, cost.column)
        if len(points) > 1:
            panels.append({
                "title": cost.title, "x": cost.label, "log": cost.scale == "log",
                "points": [[one.name, one.model, *map(_short, (one.cost, one.score, one.deviation))] for one in points],
                "front": [one.name for one in front(points)],
            })  # fmt: skip
    column = score_column(table)
    floors = [[row.model, row.cells[column].value] for row in table.rows if row.kind == "floor"] if column else []
    y = "average score, percent" if column == "average" else f"{column}, percent"
    return {
        "id": "pareto", "kind": "points", "title": "What a budget buys", "y": y, "panels": panels,
        "floors": [floor for floor in floors if floor[1] is not None],
        "note": "The line is the Pareto front: models that no other beats at the same cost or less.",
    }  # fmt: skip


def _curves(measured: Measured) -> list[dict[str, Any]]:
    note = "Mean over seeds; the band is one standard deviation where there are several."
    return [
        {
            "id": one.name, "kind": "lines", "title": f"Learning curves: {one.what}", "x": "step", "note": note,
            "panels": [
                {"title": title, "y": one.labels[title], "lines": _lines(panel, one.scale)}
                for title, panel in one.panels.items()
            ],
        }
        for one in curves(measured)
    ]  # fmt: skip


def _robustness(rates: Sequence[RateLine]) -> dict[str, Any]:
    panels = [
        {"title": f"{task}: {kind}", "y": f"{metric}, percent" if metric else "percent", "lines": [*map(_rate, lines)]}
        for (task, metric, kind), lines in by_panel(rates).items()
    ]
    return {
        "id": "robustness", "kind": "lines", "title": "Score against the share of words changed", "x": "rate",
        "panels": panels, "note": f"The same perturbed texts for every model; {SPREAD.replace('bars', 'bands')}.",
    }  # fmt: skip


def _rate(line: RateLine) -> list[Any]:
    """As a line of a curve, the spread as half the width of its interval."""
    ends = zip(line.lows, line.highs, strict=True)
    return [line.model, line.rates, [*map(_short, line.values)], [_short((high - low) / 2) for low, high in ends]]


def _lines(panel: Mapping[str, Mapping[Any, Sequence[float]]], scale: float) -> list[list[Any]]:
    """[model, places, means, deviations or []] of each line, thinned where it has more points than can be seen."""
    found: list[list[Any]] = []
    for model, curve in panel.items():
        places = _thinned(sorted(curve))
        means = [_short(scale * statistics.fmean(curve[place])) for place in places]
        several = all(len(curve[place]) > 1 for place in places)
        spread = [_short(scale * statistics.stdev(curve[place])) for place in places] if several else []
        found.append([model, places, means, spread])
    return found


def _thinned(places: list[Any]) -> list[Any]:
    """Every n-th place, the last one always.

    >>> _thinned([1, 2, 3]), len(_thinned(list(range(1000))))
    ([1, 2, 3], 60)
    """
    if len(places) <= POINTS:
        return places
    step = (len(places) - 1) / (POINTS - 1)
    return [places[round(index * step)] for index in range(POINTS)]


def _short(value: float) -> float:
    """A number as it is drawn.

    >>> _short(0.123456789), _short(6434048.0)
    (0.12346, 6434000.0)
    """
    return float(f"{value:.{DIGITS}g}")
