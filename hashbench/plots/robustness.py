"""Score against the share of words changed, a line a model, a panel for each task and kind of perturbation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.sheet import marker_of, plain_axes, sheet, tip, widen
from hashbench.results.rates import PERCENT, SPREAD, RateLine, by_panel, rate_lines

COLUMNS = {"single": 2, "double": 4}  # panels side by side
BODY = 1.35  # inches of a row of panels
LEAST = 4.0  # percent that a vertical axis spans, so that noise does not fill a panel
APART = 0.006  # of the rates: models stand side by side, so that their intervals can be told apart


def draw(data: FigureData) -> list[Drawn]:
    """One picture of all panels."""
    lines = rate_lines(data.store, data.request.experiment)
    if not lines:
        raise NothingToDraw("no score on perturbed texts; write `robustness: true` in the experiment file and sweep it")
    panels = by_panel(lines)
    columns = min(COLUMNS[data.width], len(panels))
    rows = math.ceil(len(panels) / columns)
    models = list(dict.fromkeys(line.model for line in lines))
    drawn = sheet(
        data,
        "robustness",
        "score against the share of words changed",
        body=BODY * rows,
        shape=(rows, columns),
        models=models,
        also=[SPREAD, "models side by side at each rate"],
    )
    for axes, ((task, metric, kind), own) in zip(drawn.panels, panels.items(), strict=False):
        _panel(axes, own, models)
        axes.set_title(f"{task}: {kind}", fontweight="bold")
        axes.set_ylabel(f"{metric}, percent" if metric else "percent")
    _level(drawn.panels, [task for task, _, _ in panels])
    for axes in drawn.panels[len(panels) :]:
        axes.set_axis_off()
    return [drawn]


def _panel(axes: Axes, lines: Sequence[RateLine], models: Sequence[str]) -> None:
    for line in lines:
        shift = PERCENT * APART * (models.index(line.model) - (len(models) - 1) / 2)
        at = [PERCENT * rate + shift for rate in line.rates]
        ends = None
        if line.lows:
            ends = [[value - low for value, low in zip(line.values, line.lows, strict=True)],
                    [high - value for value, high in zip(line.values, line.highs, strict=True)]]  # fmt: skip
        points, _, _ = axes.errorbar(
            at, line.values, yerr=ends, lw=0.8, elinewidth=0.6, capsize=0,
            **{**marker_of(line.model), "markersize": 3.2},
        )  # fmt: skip
        tip(points, *(f"{line.model}\n{PERCENT * rate:g} % of words changed: {score}"
                      for rate, score in zip(line.rates, _scores(line), strict=True)))  # fmt: skip
    widen(axes, LEAST)
    axes.set_xlabel("words changed, percent")
    plain_axes(axes)


def _scores(line: RateLine) -> list[str]:
    """Each value of a line with its interval."""
    if not line.lows:
        return [f"{value:.2f}" for value in line.values]
    ends = zip(line.values, line.lows, line.highs, strict=True)
    return [f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in ends]


def _level(panels: Sequence[Axes], tasks: Sequence[str]) -> None:
    """Gives the panels of a task one vertical range, so that perturbations can be compared."""
    for task in dict.fromkeys(tasks):
        own = [axes for axes, its in zip(panels, tasks, strict=False) if its == task]
        low, high = min(axes.get_ylim()[0] for axes in own), max(axes.get_ylim()[1] for axes in own)
        for axes in own:
            axes.set_ylim(low, high)


PLOT = Plot("robustness", "score against the share of words changed", draw)
