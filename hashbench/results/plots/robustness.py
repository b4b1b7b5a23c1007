"""Score against the share of words changed, a line a model, a panel for each task and kind of perturbation.

A panel of pairs has two places, the texts as they are and their other forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hashbench.common.errors import InputError
from hashbench.common.showing import decimal_text
from hashbench.results.plots.base import LEAST_SPAN, Drawn, FigureData, NothingToDraw, Plot, tip
from hashbench.results.plots.sheet import BESIDE, dashed, labelled_models, look_of, on_grey, sheet, widen
from hashbench.results.read.measured import PERCENT
from hashbench.results.read.robustness import RobustnessCurve, measure_robustness

HEIGHT, ALONE = 1.35, 2.0  # inches of a panel of several rows, and of one row alone
TICKS = 5  # measured rates that are all labelled
BESIDE_PAIRS = 0.15  # room at both sides of the two places of pairs
OF_NOISE, OF_PAIRS = "score against the share of words changed", "scores on texts as they are and perturbed"


def draw(data: FigureData) -> list[Drawn]:
    """One picture, with a panel for each task and kind of perturbation."""
    try:
        results = measure_robustness(data.store, data.request.experiment)
    except InputError as error:  # no finished robustness run
        what = "no score on perturbed texts; write `robustness: true` in the experiment file and sweep it"
        raise NothingToDraw(what) from error
    panels: dict[tuple[str, str, str], list[RobustnessCurve]] = {}
    for curve in results.curves:
        panels.setdefault((curve.task, curve.metric, curve.kind), []).append(curve)
    baselines = dashed(curve.model for curve in results.curves if curve.is_baseline)
    of_models = {curve.model for curve in results.curves if not curve.is_baseline}
    models = [model for model in results.models() if model in of_models]
    in_rows = Counter(task for task, _, _ in panels)
    bounded = any(np.isfinite(curve.score().low) for curve in results.curves)
    several = any(len(curve.seeds) > 1 for curve in results.curves)
    labels = labelled_models(data, models)
    columns = _columns(max(in_rows.values()), BESIDE[data.width])
    drawn = sheet(
        data,
        "robustness",
        OF_PAIRS if all(curve.is_of_pairs for curve in results.curves) else OF_NOISE,
        height=HEIGHT if len(panels) > columns else ALONE,
        panels=len(panels),
        columns=columns,
        models=labels,
        handles=[Line2D([], [], label=name, **look) for name, look in baselines.items()],
        also=[
            *([f"bars: 95 % interval over {'seeds and examples' if several else 'examples'}"] if bounded else []),
            *on_grey(models, labels),
        ],
    )
    by_task: dict[str, list[Axes]] = {}
    for axes, ((task, metric, kind), panel) in zip(drawn.panels, panels.items(), strict=True):
        for curve in panel:
            if curve.is_baseline:
                _line(axes, curve, baselines[curve.model])
        of_pairs = panel[0].is_of_pairs
        _panel(data, axes, [curve for curve in panel if not curve.is_baseline], labels)
        axes.set_xlabel("form of the text" if of_pairs else "words changed, percent")
        axes.set_xlim(left=0)  # no fewer words than none
        if len(rates := sorted({PERCENT * rate for curve in panel for rate in curve.rates})) <= TICKS:
            axes.set_xticks(rates)
        if of_pairs:
            axes.set_xlim(-BESIDE_PAIRS * PERCENT, (1 + BESIDE_PAIRS) * PERCENT)
            axes.set_xticks([0, PERCENT], ["as it is", "perturbed"])
        axes.set_title(f"{task}: {kind}")
        axes.set_ylabel(f"{metric}, percent" if metric else "percent")
        by_task.setdefault(task, []).append(axes)
    for row in by_task.values():  # one vertical range, so that perturbations can be compared
        limits = [end for axes in row for end in axes.get_ylim()]
        for axes in row:
            axes.set_ylim(min(limits), max(limits))
    return [drawn]


def _columns(n_kinds: int, beside: int) -> int:
    """The number of panels side by side: as many as fit, and those of a task in one row where that is possible.

    >>> [_columns(n, 4) for n in (1, 2, 3, 4, 7)]
    [4, 4, 3, 4, 4]
    """
    return beside - beside % n_kinds if n_kinds < beside else beside


def _panel(data: FigureData, axes: Axes, curves: Sequence[RobustnessCurve], labels: Sequence[str]) -> None:
    for curve in curves:
        rates = [PERCENT * rate for rate in curve.rates]
        scores = [curve.score(at) for at in range(len(rates))]
        values, lows, highs = PERCENT * np.array([(score.value, score.low, score.high) for score in scores]).T
        bounded = bool(np.isfinite([lows, highs]).all())
        has_bars = bounded and curve.model in labels  # those of grey lines would set the range of the axis
        points, _, bars = axes.errorbar(
            rates, values, yerr=[values - lows, highs - values] if has_bars else None, lw=0.8, elinewidth=0.6,
            capsize=0, **look_of(data, curve.model, 3.2, labels),
        )  # fmt: skip
        for part in (points, *bars):
            part.set_clip_on(False)  # of texts as they are, at the axis
        for bar in bars:
            bar.set_alpha(0.5)  # bars of several models lie on each other
        ends = [
            f" [{decimal_text(low, 2)}, {decimal_text(high, 2)}]" if bounded else ""
            for low, high in zip(lows, highs, strict=True)
        ]
        texts = zip(rates, values, ends, strict=True)
        tip(
            points,
            *(f"{curve.model}\n{_at(curve, rate)}: {decimal_text(value, 2)}{end}" for rate, value, end in texts),
        )
    widen(axes, LEAST_SPAN)
    axes.grid(True)


def _at(curve: RobustnessCurve, rate: float) -> str:
    """A rate in percent in words; of pairs 0 is the text as it is."""
    if curve.is_of_pairs:
        return "perturbed" if rate else "as it is"
    return f"{rate:g} % of words changed"


def _line(axes: Axes, curve: RobustnessCurve, look: Mapping[str, Any]) -> None:
    """Draws the dashed line of a trivial baseline."""
    rates = [PERCENT * rate for rate in curve.rates]
    values = [PERCENT * curve.score(at).value for at in range(len(rates))]
    (line,) = axes.plot(rates, values, zorder=1, **look)
    tip(line, curve.model)


PLOT = Plot("robustness", OF_NOISE, draw)
