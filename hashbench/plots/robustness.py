"""Score against the share of perturbed words, a line a model, a panel for each task and kind of perturbation."""

from __future__ import annotations

import math
import statistics

from matplotlib.axes import Axes

from hashbench.plots.base import Drawn, NothingToDraw, Plot, Source
from hashbench.plots.sheet import colour_of, marker_of, plain_axes, sheet, widen
from hashbench.report.rates import Lines, robustness

COLUMNS = {"single": 2, "double": 4}  # panels side by side
BODY = 1.35  # inches of a row of panels
LEAST = 2.0  # percent that a vertical axis spans


def draw(source: Source) -> list[Drawn]:
    """One picture of all panels."""
    found = robustness(source.measured)
    if not found:
        raise NothingToDraw("no score on perturbed texts; set `robustness:` in the experiment file and sweep again")
    columns = min(COLUMNS[source.width], len(found))
    figure, made = sheet(
        source,
        f"{source.measured.experiment.name}: score against the share of perturbed words",
        body=BODY * math.ceil(len(found) / columns),
        shape=(math.ceil(len(found) / columns), columns),
        models=[model for lines in found.values() for model in lines],
        also=["line: mean over seeds, band: one sd"],
    )
    for axes, ((task, metric, kind), lines) in zip(made, found.items(), strict=False):
        _panel(axes, lines)
        axes.set_title(f"{task}: {kind}", fontweight="bold")
        axes.set_ylabel(f"{metric}, percent")
    for axes in made[len(found) :]:
        axes.set_axis_off()
    return [Drawn("robustness", figure)]


def _panel(axes: Axes, lines: Lines) -> None:
    for model, rates in lines.items():
        places = sorted(rates)
        means = [100 * statistics.fmean(rates[rate]) for rate in places]
        axes.plot(places, means, lw=0.9, **{**marker_of(model), "markersize": 3.2})  # type: ignore[arg-type]
        if all(len(rates[rate]) > 1 for rate in places):
            spread = [100 * statistics.stdev(rates[rate]) for rate in places]
            low = [mean - one for mean, one in zip(means, spread, strict=True)]
            high = [mean + one for mean, one in zip(means, spread, strict=True)]
            axes.fill_between(places, low, high, alpha=0.15, lw=0, color=colour_of(model))
    widen(axes, LEAST)
    axes.set_xlabel("rate")
    plain_axes(axes)


PLOT = Plot("robustness", "score against the rate of perturbed words", draw)
