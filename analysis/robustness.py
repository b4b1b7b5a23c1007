"""Robustness: score against the share of words changed, a panel for each task and perturbation, a line a model.

python -m analysis.robustness --db results.db -o figures
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures import QUIET, colour_of, dashes_of, open_results, parser, save, widen
from hashbench.errors import InputError
from hashbench.report.robustness import AVERAGE, Robustness, measure_robustness
from hashbench.store.engine import Store

SIZE = (1.9, 1.75)  # inches of a panel
MARKERS = "osD^vP*Xp<>h"
LEAST = 4.0  # span of a vertical axis in percent, so that noise does not fill a panel
APART = 0.006  # of the rates: models are set side by side, so that their intervals can be told apart
LEGEND_WIDTH = 2.2  # inches of a model's name in the legend


@dataclass(frozen=True)
class Point:
    """A model's score at one rate of one perturbation of one task, in percent; low and high None without interval."""

    task: str
    metric: str
    kind: str
    model: str
    colour: int  # the model's place among those of the experiment: its colour and marker in every figure
    rate: float
    value: float
    low: float | None
    high: float | None


def rows_of(found: Robustness) -> list[Point]:
    """The points of all curves, the average of the tasks among them."""
    colours = {model: index for index, model in enumerate(found.labels)}
    points = []
    for curve in found.curves:
        for at, rate in enumerate(curve.rates):
            score = curve.score(at)
            ends = [None if math.isnan(end) else 100 * end for end in (score.low, score.high)]
            about = (curve.task, curve.metric, curve.kind, curve.model, colours[curve.model])
            points.append(Point(*about, rate, 100 * score.value, *ends))
    return points


def draw(rows: Sequence[Point]) -> Figure:
    """A row of panels a task, a column a perturbation; lines with the 95 % interval of each point."""
    tasks, kinds = (list(dict.fromkeys(values)) for values in ([r.task for r in rows], [r.kind for r in rows]))
    models = dict.fromkeys((row.model, row.colour) for row in rows)
    width, height = max(4.0, SIZE[0] * len(kinds) + 0.6), SIZE[1] * len(tasks) + 0.6
    per_line = max(1, int(width / LEGEND_WIDTH))
    under = 0.3 + 0.2 * math.ceil(len(models) / per_line)
    figure, grid = plt.subplots(
        len(tasks), len(kinds), figsize=(width, height + under), sharex=True, sharey="row", squeeze=False
    )
    for line, task in zip(grid, tasks, strict=True):
        for axes, kind in zip(line, kinds, strict=True):
            _panel(axes, [row for row in rows if (row.task, row.kind) == (task, kind)], len(models))
        metric = next(row.metric for row in rows if row.task == task)
        line[0].set_ylabel(f"{task}\n{metric or 'mean of tasks'}, %", fontsize=8)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(kind, fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("words changed, %", fontsize=8)
    total = height + under
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, under / total, 1, 1))
    figure.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.01, 0.16 / total), ncols=per_line, fontsize=8,
                  frameon=False, borderaxespad=0)  # fmt: skip
    note = "bars: 95 % interval over examples (and seeds, where there are several); models side by side at each rate"
    figure.text(0.01, 0.05 / total, note, fontsize=7, color=QUIET)
    return figure


def _panel(axes: Axes, rows: Sequence[Point], n_models: int) -> None:
    for model, colour in dict.fromkeys((row.model, row.colour) for row in rows):
        own = sorted((row for row in rows if row.model == model), key=lambda row: row.rate)
        shift = 100 * APART * (colour - (n_models - 1) / 2)
        at, values = [100 * row.rate + shift for row in own], [row.value for row in own]
        marker = MARKERS[colour % len(MARKERS)]
        axes.plot(at, values, dashes_of(colour), label=model, lw=1.1, ms=3, color=colour_of(colour), marker=marker)
        for x, row in zip(at, own, strict=True):
            if row.low is not None and row.high is not None:
                axes.plot([x, x], [row.low, row.high], "-", lw=0.7, alpha=0.6, color=colour_of(colour))
    widen(axes, LEAST)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)


def run(store: Store, *, experiment: str | None, output: Path, format: str = "png") -> list[Path]:
    """The files that were written: every task, and the average of the tasks where there are several.

    Raises InputError where no robustness run is finished.
    """
    points = rows_of(measure_robustness(store, experiment))
    written = [save(draw([p for p in points if p.task != AVERAGE]), output, "robustness", format)]
    average = [point for point in points if point.task == AVERAGE]
    return [*written, save(draw(average), output, "robustness_average", format)] if average else written


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code."""
    chosen = parser(__doc__.splitlines()[0] if __doc__ else "").parse_args(arguments)
    try:
        store = open_results(chosen.db)
        for path in run(store, experiment=chosen.experiment, output=chosen.output, format=chosen.format):
            print(path)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
