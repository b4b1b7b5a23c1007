"""Average score against embedding parameters, times and bytes of exported folders, each with its Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from hashbench.common.showing import BUDGET_TOLERANCE, decimal_text
from hashbench.results.plots.base import (
    LEAST_SPAN,
    Drawn,
    FigureData,
    NothingToDraw,
    Plot,
    drawn_score,
    label_of,
    score_column,
    tip,
)
from hashbench.results.plots.sheet import (
    FRONT,
    baseline_lines,
    baseline_scores,
    count_of,
    draw_baselines,
    labelled_models,
    look_of,
    on_grey,
    score_axis,
    sheet,
    show_counts,
    show_log_ticks,
)
from hashbench.results.tables.table import Table, comparable

DODGE = 0.07  # inches between labelled models of one cost
HEIGHT = {"single": 1.9, "double": 2.5}  # inches
SEVERAL = 2  # models; one alone is no comparison


@dataclass(frozen=True)
class Cost:
    """A cost for the horizontal axis: a column of the experiment's own table, with the figure's title and scale."""

    column: str
    file: str
    title: str
    label: str
    scale: Literal["log", "linear"]


COSTS = (
    Cost("emb_params", "pareto_parameters", "embedding parameters", "embedding parameters", "log"),
    Cost(
        "infer_ms", "pareto_inference", "time of inference", "ms per sample, middle of the range over tasks", "linear"
    ),
    Cost("pt_ms", "pareto_pretraining", "time of pre-training", "ms per sample, forward and backward", "linear"),
    Cost("int8_folder", "pareto_folder", "bytes of the exported folder", "bytes of the exported int8 folder", "log"),
)


@dataclass(frozen=True)
class CostPoint:
    """One model with its cost, its score in percent, and how far a bar reaches to either side of it.

    `interval`: that bar is the score's 95 % interval over seeds and examples; otherwise its deviation over seeds.
    """

    name: str
    cost: float
    score: float
    reach: float = 0.0
    model: str = ""  # without the settings of its row
    interval: bool = False


def front(points: Sequence[CostPoint]) -> list[CostPoint]:
    """The Pareto front by rising cost: no other point is better at no higher cost, or cheaper and as good.

    >>> points = [CostPoint("a", 1, 5), CostPoint("b", 2, 4), CostPoint("c", 3, 7), CostPoint("d", 1, 4)]
    >>> [point.name for point in front(points)]
    ['a', 'c']
    """
    best: list[CostPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.score)):
        if not best or point.score > best[-1].score:
            best.append(point)
    return best


def draw(data: FigureData) -> list[Drawn]:
    """A picture for each cost that was measured."""
    by_cost = [(cost, points_of(data.table, cost.column)) for cost in COSTS]
    drawn = [_picture(data, cost, points) for cost, points in by_cost if _differ(points)]
    if not drawn:
        n = len(points_of(data.table, "emb_params"))
        raise NothingToDraw(
            f"no measured cost sets two models apart: {n} have a score and a stored size; finish the sweep, set "
            "`efficiency: true`, or give several budgets"
        )
    return drawn


def points_of(table: Table, cost: str) -> list[CostPoint]:
    """The models of the experiment's own table that have both a score and this cost."""
    score_name = score_column(table)
    if not {cost, score_name} <= {column.name for column in table.columns}:
        return []
    alone = {
        name: half for pairs in table.pairs if pairs.column == score_name
        for name, half in zip(pairs.rows, pairs.alone, strict=True)
    }  # fmt: skip
    points = []
    for row in table.rows:
        price, score = comparable(row.cells[cost]), row.cells[score_name]
        if row.kind == "model" and price is not None and score.value is not None:
            half = alone.get((row.title, row.settings))
            reach = (score.std or 0.0) if half is None else half
            points.append(CostPoint(label_of(row), price, score.value, reach, row.model, half is not None))
    return points


def _equal(cost: float, other: float) -> bool:
    return abs(cost - other) <= BUDGET_TOLERANCE * other


def _differ(points: Sequence[CostPoint]) -> bool:
    """True if the points' costs differ by more than a budget's tolerance; models of one budget have no front."""
    costs = [point.cost for point in points]
    return len(points) >= SEVERAL and max(costs) - min(costs) > BUDGET_TOLERANCE * max(costs)


def _picture(data: FigureData, cost: Cost, points: Sequence[CostPoint]) -> Drawn:
    """The points of the models, of labelled ones in colour, and the Pareto front as a step line."""
    column, words = drawn_score(data.table)
    best, models = front(points), [point.model for point in points]
    labels = labelled_models(data, models, [point.model for point in best])
    baselines = baseline_scores(data.table, column.name)
    drawn = sheet(
        data, cost.file, f"score and {cost.title}", height=HEIGHT[data.width], models=labels,
        handles=[Line2D([], [], color=FRONT, lw=1.2, label="Pareto front"), *baseline_lines(baselines)],
        also=[words, "models of one cost: side by side", *_meaning_of_bars(points), *on_grey(models, labels)],
    )  # fmt: skip
    axes = drawn.panels[0]
    axes.step([p.cost for p in best], [p.score for p in best], where="post", color=FRONT, lw=1.2, zorder=1)
    score = "average score" if column.tasks else column.name
    for point in points:
        # Grey points stay at their cost: a row of all models of a budget would be longer than a decade
        beside = [of for of in points if of.model in labels and _equal(of.cost, point.cost)]
        right = DODGE * (beside.index(point) - (len(beside) - 1) / 2) if point in beside else 0.0
        mark, caps, bars = axes.errorbar(
            point.cost, point.score, yerr=point.reach or None, linestyle="none", capsize=2, elinewidth=0.8,
            **{"zorder": 3, **look_of(data, point.model, 5, labels)},
        )  # fmt: skip
        for part in (mark, *caps, *bars):
            part.set_transform(axes.transData + ScaledTranslation(right, 0, drawn.figure.dpi_scale_trans))
            part.set_clip_on(False)  # an embedding without parameters lies on the axis
        reach = f" ± {decimal_text(point.reach, 2)}" if point.reach else ""
        tip(mark, f"{point.name}\n{score}: {decimal_text(point.score, 2)}{reach}\n{cost.title}: {count_of(point.cost)}")
    axes.set_xlabel(cost.label)
    axes.margins(x=0.08, y=0.12)
    _scale(axes, cost, [point.cost for point in points])
    score_axis(axes, column, LEAST_SPAN)
    draw_baselines(axes, baselines)
    return drawn


def _meaning_of_bars(points: Sequence[CostPoint]) -> list[str]:
    """The meaning of the bars, which may be intervals of some models and deviations of others."""
    meanings = {point.interval for point in points if point.reach}
    if meanings == {True, False}:
        return ["bars: 95 % interval over seeds and examples, or sd over seeds where a model is not compared"]
    words = {True: "bars: 95 % interval over seeds and examples", False: "bars: sd over seeds"}
    return [words[meaning] for meaning in meanings]


def _scale(axes: Axes, cost: Cost, costs: Sequence[float]) -> None:
    """Sets the horizontal axis: logarithmic for counts."""
    if cost.scale == "linear":
        return
    if min(costs) > 0:
        axes.set_xscale("log")
        show_log_ticks(axes, count_of)
    else:  # an embedding without parameters has a place too
        first = 10 ** math.floor(math.log10(min((cost for cost in costs if cost > 0), default=1.0)))
        axes.set_xscale("symlog", linthresh=first, linscale=0.5)
        axes.set_xlim(0, max(2 * max(costs), 20 * first))  # 0, the first power of ten, and another one
        decades = range(round(math.log10(first)), math.floor(math.log10(axes.get_xlim()[1])) + 1)
        axes.set_xticks([0.0, *(10.0**decade for decade in decades)])
        show_counts(axes)


WHAT = "average score against embedding parameters, times and bytes of exported folders, with the Pareto front"
PLOT = Plot("pareto", WHAT, draw)
