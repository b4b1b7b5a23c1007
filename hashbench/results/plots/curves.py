"""Learning curves: loss of every pre-training by objective, and the reported metric of every task while fine-tuning."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, tip
from hashbench.results.plots.sheet import BESIDE, labelled_models, look_of, on_grey, sheet, widen
from hashbench.results.read.curves import LearningCurve, LearningCurves, Panels, curves

HEIGHT = 1.35  # inches of a panel; of a wide one 1.35 times as much
LEAST_STORED_SPAN = 0.02  # span of a vertical axis in stored units: two percent of a score
BANDS = 4  # models of a panel; more bands lie on each other
MARKED = 6  # points of a curve that carry the marker


def draw(data: FigureData, metric: str = "") -> list[Drawn]:
    """Up to two pictures, of pre-training curves and of fine-tuning curves, as far as their points are stored."""
    stored = curves(data.measured, metric)
    drawn = [_picture(data, replace(of, panels=panels)) for of in stored if (panels := _of_points(of.panels))]
    if not drawn:
        why = "each training was evaluated once; give finetune.evaluations_per_epoch" if stored else "finish its sweep"
        raise NothingToDraw(f"no curve {metric or 'loss'!r}; {why}")
    return drawn


def _of_points(panels: Panels) -> Panels:
    """The panels with curves of two points or more: one evaluation is no curve."""
    curved = {
        name: {model: curve for model, curve in panel.items() if len(curve) > 1} for name, panel in panels.items()
    }
    return {name: panel for name, panel in curved.items() if panel}


def _picture(data: FigureData, stored: LearningCurves) -> Drawn:
    n, columns = len(stored.panels), BESIDE[data.width]
    having = {model for panel in stored.panels.values() for model in panel}
    models = list(dict.fromkeys(run.model for run in data.measured.runs if run.model in having))
    everywhere = [model for model in models if all(model in panel for panel in stored.panels.values())]
    labels = labelled_models(data, models, sorted(everywhere, key=data.best_first.index))
    curves_drawn = [curve for panel in stored.panels.values() for curve in panel.values()]
    banded = len(models) <= BANDS
    several = any(len(values) > 1 for curve in curves_drawn for values in curve.values())
    drawn = sheet(
        data,
        stored.name,
        f"learning curves, {stored.what}",
        height=HEIGHT if min(n, columns) > 2 else 1.35 * HEIGHT,
        panels=n,
        columns=columns,
        models=labels,
        also=[
            *([f"line: mean over seeds{', band: one sd' if banded else ''}"] if several else []),
            *on_grey(models, labels),
        ],
    )
    for axes, (title, panel) in zip(drawn.panels, stored.panels.items(), strict=True):
        for model, curve in panel.items():
            _line(axes, model, curve, look_of(data, model, 2.8, labels), scale=stored.scale, banded=banded)
        widen(axes, LEAST_STORED_SPAN * stored.scale)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
        axes.set_title(title)
        axes.set_ylabel(stored.labels[title])
        axes.set_xlabel("step")
        axes.grid(True)
    return drawn


def _line(axes: Axes, model: str, curve: LearningCurve, look: dict[str, Any], *, scale: float, banded: bool) -> None:
    """Draws a model's mean over seeds; `banded`: with one standard deviation where every step has several seeds."""
    steps = sorted(curve)
    means = np.array([scale * statistics.fmean(curve[step]) for step in steps])
    several = all(len(curve[step]) > 1 for step in steps)
    spread = np.array([scale * statistics.stdev(curve[step]) if several else 0.0 for step in steps])
    if several and banded:
        axes.fill_between(steps, means - spread, means + spread, alpha=0.15, lw=0, color=look["color"])
    marked = range(0, len(steps), max(1, len(steps) // MARKED))
    (line,) = axes.plot(steps, means, markevery=list(marked), **look)
    deviations = [f" ± {deviation:.2g}" if deviation else "" for deviation in spread]
    tip(line, *(f"{model}\nstep {steps[at]:,}: {means[at]:.4g}{deviations[at]}" for at in marked))


PLOT = Plot("curves", "loss while pre-training, score while fine-tuning", draw)
