"""Learning curves: loss of every pre-training by objective, and the reported metric of every task while fine-tuning."""

from __future__ import annotations

import math
import statistics

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.sheet import colour_of, marker_of, plain_axes, sheet, tip, widen
from hashbench.results.curves import Curve, Curves, curves

COLUMNS = {"single": 2, "double": 4}  # panels side by side
BODY = 1.35  # inches of a row of panels
LEAST = 0.02  # span of a vertical axis in stored units: two percent of a score
MARKED = 6  # points of a curve that carry the marker


def draw(data: FigureData, metric: str = "") -> list[Drawn]:
    """A picture of pre-training and one of fine-tuning, those of which something is stored."""
    drawn = [_drawn(data, one) for one in curves(data.measured, metric)]
    if not drawn:
        raise NothingToDraw(f"no curve {metric or 'loss'!r}; finish its sweep")
    return drawn


def _drawn(data: FigureData, found: Curves) -> Drawn:
    columns = min(COLUMNS[data.width], len(found.panels))
    rows = math.ceil(len(found.panels) / columns)
    order = dict.fromkeys(run.model for run in data.measured.runs)
    having = {model for panel in found.panels.values() for model in panel}
    drawn = sheet(
        data,
        found.name,
        f"learning curves, {found.what}",
        body=BODY * rows * (1.0 if columns > 2 else 1.35),
        shape=(rows, columns),
        models=[model for model in order if model in having],
        also=["line: mean over seeds, band: one sd"],
    )
    for axes, (title, panel) in zip(drawn.panels, found.panels.items(), strict=False):
        for model, curve in panel.items():
            _line(axes, model, curve, found.scale)
        widen(axes, LEAST * found.scale)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
        axes.set_title(title, fontweight="bold")
        axes.set_ylabel(found.labels[title])
        axes.set_xlabel("step")
        plain_axes(axes)
    for axes in drawn.panels[len(found.panels) :]:
        axes.set_axis_off()
    return drawn


def _line(axes: Axes, model: str, curve: Curve, scale: float) -> None:
    """The mean over seeds, with a band of one standard deviation where there are several."""
    steps = sorted(curve)
    means = [scale * statistics.fmean(curve[step]) for step in steps]
    look = {**marker_of(model), "markersize": 2.8}
    several = all(len(curve[step]) > 1 for step in steps)
    spread = [scale * statistics.stdev(curve[step]) if several else 0.0 for step in steps]
    places = range(0, len(steps), max(1, len(steps) // MARKED))
    (line,) = axes.plot(steps, means, lw=0.9, markevery=list(places), **look)
    tip(line, *(f"{model}\nstep {steps[at]:,}: {means[at]:.4g}{_deviation(spread[at])}" for at in places))
    if several:
        low = [mean - one for mean, one in zip(means, spread, strict=True)]
        high = [mean + one for mean, one in zip(means, spread, strict=True)]
        axes.fill_between(steps, low, high, alpha=0.15, lw=0, color=colour_of(model))


def _deviation(spread: float) -> str:
    return f" ± {spread:.2g}" if spread else ""


PLOT = Plot("curves", "loss while pre-training, score while fine-tuning", draw)
