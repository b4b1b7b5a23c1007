"""Score against the share of words changed, a line a model, a panel for each task and kind of perturbation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.sheet import BESIDE, marker_of, plain_axes, sheet, tip, widen
from hashbench.results.measured import PERCENT
from hashbench.results.rates import SPREAD, RateLine, by_panel, rate_lines

HEIGHT = 1.35  # inches of a panel
LEAST = 4.0  # percent that a vertical axis spans, so that noise does not fill a panel
APART = 0.006  # of the rates: models stand side by side, so that their intervals can be told apart


def draw(data: FigureData) -> list[Drawn]:
    """One picture of all panels."""
    lines = rate_lines(data.store, data.request.experiment)
    if not lines:
        raise NothingToDraw("no score on perturbed texts; write `robustness: true` in the experiment file and sweep it")
    panels = by_panel(lines)
    models = list(dict.fromkeys(line.model for line in lines))
    drawn = sheet(
        data,
        "robustness",
        "score against the share of words changed",
        height=HEIGHT,
        panels=len(panels),
        columns=BESIDE[data.width],
        models=models,
        also=[SPREAD, "models side by side at each rate"],
    )
    by_task: dict[str, list[Axes]] = {}
    for axes, ((task, metric, kind), panel) in zip(drawn.panels, panels.items(), strict=True):
        _panel(axes, panel, models)
        axes.set_title(f"{task}: {kind}", fontweight="bold")
        axes.set_ylabel(f"{metric}, percent" if metric else "percent")
        by_task.setdefault(task, []).append(axes)
    for alike in by_task.values():  # one vertical range, so that perturbations can be compared
        limits = [end for axes in alike for end in axes.get_ylim()]
        for axes in alike:
            axes.set_ylim(min(limits), max(limits))
    return [drawn]


def _panel(axes: Axes, lines: Sequence[RateLine], models: Sequence[str]) -> None:
    for line in lines:
        shift = PERCENT * APART * (models.index(line.model) - (len(models) - 1) / 2)
        rates = [PERCENT * rate for rate in line.rates]
        values, lows, highs = np.array(line.values), np.array(line.lows), np.array(line.highs)
        points, _, _ = axes.errorbar(
            [rate + shift for rate in rates], values, yerr=[values - lows, highs - values] if line.lows else None,
            lw=0.8, elinewidth=0.6, capsize=0, **marker_of(line.model, 3.2),
        )  # fmt: skip
        ends = [f" [{low:.2f}, {high:.2f}]" for low, high in zip(lows, highs, strict=True)] or [""] * len(rates)
        scores = [f"{value:.2f}{interval}" for value, interval in zip(values, ends, strict=True)]
        texts = zip(rates, scores, strict=True)
        tip(points, *(f"{line.model}\n{rate:g} % of words changed: {score}" for rate, score in texts))
    widen(axes, LEAST)
    axes.set_xlabel("words changed, percent")
    plain_axes(axes)


PLOT = Plot("robustness", "score against the share of words changed", draw)
