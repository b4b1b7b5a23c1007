"""Average score against embedding parameters, times and bytes of exported folders, each with its Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from hashbench.common.showing import BUDGET_TOLERANCE, decimal_text
from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, drawn_score, label_of, score_column
from hashbench.results.plots.sheet import (
    FRONT,
    QUIET,
    SMALL,
    baseline_scores,
    count_of,
    dashed_levels,
    labelled_models,
    marker_of,
    muted,
    occupied,
    on_grey,
    plain_axes,
    sheet,
    tip,
    widen,
)
from hashbench.results.tables.table import Table, comparable

LEAST = 4.0  # percent that the vertical axis spans
HEIGHT = {"single": 2.3, "double": 3.3}  # inches
SIDES: tuple[tuple[float, Literal["left", "right"]], ...] = ((6.0, "left"), (-6.0, "right"))
LabelPlace = tuple[float, float, Literal["left", "right"]]
STEP = 8.0  # points between two places of a name
# Offsets in points at which a name is tried, near ones first: right and left, then further up and down.
PLACES: list[LabelPlace] = [
    (dx * further, dy, side)
    for further in (1, 5, 12)
    for dy in (0.0, *(sign * STEP * step for step in range(1, 12) for sign in (1, -1)))
    for dx, side in SIDES
]
CLOSE, REACH = 6.0, 5.0  # points from a point to a name that needs no line; pixels around a point
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
    drawn = [cost_figure(data, cost, points) for cost, points in by_cost if _differ(points)]
    if not drawn:
        raise NothingToDraw(_reason(data.table))
    return drawn


def _reason(table: Table) -> str:
    """Why no cost sets models apart, and what to do: scores or sizes that lack, or costs that are equal."""
    models = [row for row in table.rows if row.kind == "model"]
    scored = points_of(table, "emb_params")
    lacking = len(models) - len(scored)
    if len(models) < SEVERAL:
        return "it has one model, and a front needs two; add models"
    with_score = [row for row in models if (cell := row.cells.get(score_column(table))) and cell.value is not None]
    if len(with_score) >= SEVERAL > len(scored):
        without = len(with_score) - len(scored)
        return f"{without} of its {len(with_score)} models with a score have no stored size; set `efficiency: true`"
    if len(scored) < SEVERAL:
        return f"{len(scored)} of its {len(models)} models have a score and a stored size; finish the sweep"
    advice = [f"finish the sweep for the other {lacking}"] if lacking else []
    if not any(points_of(table, cost.column) for cost in COSTS if cost.column != "emb_params"):
        advice.append("set `efficiency: true` for a front by times")
    equal = f"equal numbers of embedding parameters (within {BUDGET_TOLERANCE:.0%})"
    return f"its {len(scored)} models with a score have {equal}; {' or '.join([*advice, 'give several budgets'])}"


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


def _differ(points: Sequence[CostPoint]) -> bool:
    """True if the points' costs differ by more than a budget's tolerance; models of one budget have no front."""
    costs = [point.cost for point in points]
    return len(points) >= SEVERAL and max(costs) - min(costs) > BUDGET_TOLERANCE * max(costs)


def cost_figure(
    data: FigureData, cost: Cost, points: Sequence[CostPoint], levels: Mapping[str, float] | None = None
) -> Drawn:
    """The points of models whose scores are in the first table of `data`, with their Pareto front.

    `levels`: scores in percent of what has a dashed line; None: those of the trivial baselines in the table.
    """
    table = data.table
    column, words = drawn_score(table)
    named = data.width == "double"  # a narrow figure has a legend in the place of names
    labels = labelled_models(data, dict.fromkeys(point.model for point in points), [of.model for of in front(points)])
    drawn = sheet(
        data,
        cost.file,
        f"score and {cost.title}",
        height=HEIGHT[data.width],
        models=[] if named else labels,
        handles=[Line2D([], [], color=FRONT, lw=1.2, label="Pareto front")],
        also=[
            words,
            *_meaning_of_bars(points),
            *on_grey([point.model for point in points], labels),
        ],
    )
    axes = drawn.panels[0]
    score = "average score" if column.tasks else column.name
    _points(axes, points, labels, score=score, cost=cost.title)
    axes.set_xlabel(cost.label)
    axes.set_ylabel(f"{score}, percent")
    _scale(axes, cost, [point.cost for point in points])
    axes.margins(x=0.2 if named else 0.08, y=0.12)
    widen(axes, LEAST)
    plain_axes(axes)
    dashed_levels(axes, baseline_scores(table, column.name) if levels is None else levels)
    if named:
        drawn.figure.draw_without_rendering()  # places are known once the layout is made
        _label(axes, points, [point for point in points if point.model in labels])
    return drawn


def _meaning_of_bars(points: Sequence[CostPoint]) -> list[str]:
    """The meaning of the bars, which may be intervals of some models and deviations of others."""
    meanings = {point.interval for point in points if point.reach}
    if meanings == {True, False}:
        return ["bars: 95 % interval over seeds and examples, or sd over seeds where a model is not compared"]
    words = {True: "bars: 95 % interval over seeds and examples", False: "bars: sd over seeds"}
    return [words[meaning] for meaning in meanings]


def _scale(axes: Axes, cost: Cost, costs: Sequence[float]) -> None:
    """Sets the horizontal axis: logarithmic for counts, with ticks at 2 and 5 too if they span less than 100 times."""
    if cost.scale == "linear":
        return
    if min(costs) <= 0:  # an embedding without parameters has a place too
        first = 10 ** math.floor(math.log10(min((cost for cost in costs if cost > 0), default=1.0)))
        axes.set_xscale("symlog", linthresh=first, linscale=0.5)
        axes.set_xlim(0, 10 * max(*costs, first))
        decades = math.log10(max(*costs, first) / first)
        axes.set_xticks([0, *(first * 10**power for power in range(1 + math.ceil(decades)))])
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if max(costs) < 100 * min(costs) else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_of(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _points(axes: Axes, points: Sequence[CostPoint], labels: Sequence[str], *, score: str, cost: str) -> None:
    """Draws all models as points, with intervals or deviations as error bars, and the Pareto front as a step line.

    `score` and `cost` are the names of the two numbers in the text that a point shows under the pointer.
    """
    best = front(points)
    costs, scores = [point.cost for point in best], [point.score for point in best]
    axes.step(costs, scores, where="post", color=FRONT, lw=1.2, zorder=1)
    for point in points:
        look = {"zorder": 3, **marker_of(point.model, 5)} if point.model in labels else muted(3.5)
        mark, caps, bars = axes.errorbar(
            point.cost, point.score, yerr=point.reach or None, linestyle="none", capsize=2, elinewidth=0.8, **look
        )
        for part in (mark, *caps, *bars):
            part.set_clip_on(False)  # an embedding without parameters lies on the axis
        reach = f" ± {decimal_text(point.reach, 2)}" if point.reach else ""
        tip(mark, f"{point.name}\n{score}: {decimal_text(point.score, 2)}{reach}\n{cost}: {count_of(point.cost)}")


def _label(axes: Axes, points: Sequence[CostPoint], named: Sequence[CostPoint]) -> None:
    """Writes names beside their points where they cover nothing, preferably where no other point is nearer.

    Else at the first place that covers nothing, with a line to the point that crosses no name and no other point; a
    name without such a place is left out. `points`: all drawn.
    """
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    frame = axes.get_window_extent()
    taken = [text.get_window_extent(renderer) for text in axes.texts if text.get_text()]
    drawn, dots = occupied(axes), _pixels(axes, points)
    pixels = dict(zip((point.model for point in points), dots, strict=True))
    for point in sorted(named, key=lambda point: -point.score):
        at = _pixels(axes, [point])[0]
        others = [
            Bbox([(x - REACH, y - REACH), (x + REACH, y + REACH)])
            for x, y in dots if max(abs(x - at[0]), abs(y - at[1])) > 2 * REACH
        ]  # fmt: skip
        free: LabelPlace | None = None  # the first place that covers nothing
        beside: LabelPlace | None = None  # the first of them to which no other point is nearer
        for tried in PLACES:
            text = _annotate(axes, point, tried)
            text.update_positions(renderer)
            # The annotation's own would hold its line too.
            box = Text.get_window_extent(text, renderer)
            text.remove()
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
            if inside and not box.count_overlaps([*taken, *drawn]):
                end = (box.x0 if tried[2] == "left" else box.x1, (box.y0 + box.y1) / 2)
                free = free or (tried if _is_clear(at, end, [*taken, *others]) else None)
                if _nearest(box, pixels) == point.model and abs(tried[1]) <= STEP and abs(tried[0]) <= CLOSE:
                    beside = tried
                    break
        if place := beside or free:
            text = _annotate(axes, point, place, line=beside is None or abs(place[1]) > STEP)
            text.update_positions(renderer)
            taken.append(Text.get_window_extent(text, renderer))


def _is_clear(start: tuple[float, float], end: tuple[float, float], boxes: Sequence[Bbox]) -> bool:
    """True where a straight line between two places in pixels crosses none of the boxes."""
    (x, y), (end_x, end_y) = start, end
    parts = [part / 30 for part in range(31)]
    return not any(box.contains(x + (end_x - x) * part, y + (end_y - y) * part) for box in boxes for part in parts)


def _annotate(axes: Axes, point: CostPoint, place: LabelPlace, *, line: bool = False) -> Annotation:
    """Writes a model's name at an offset from its point, with a line to the point if `line`."""
    dx, dy, side = place
    to_point = {"arrowstyle": "-", "lw": 0.4, "color": QUIET, "relpos": (float(side == "right"), 0.5)}
    text = axes.annotate(
        point.name, (point.cost, point.score), xytext=(dx, dy), textcoords="offset points", ha=side,
        va="center", fontsize=SMALL, arrowprops=to_point if line else None,
    )  # fmt: skip
    text.set_in_layout(False)
    return text


def _nearest(box: Bbox, pixels: Mapping[str, tuple[float, float]]) -> str:
    """The model whose point is nearest to the box of a name."""
    away = {
        model: math.hypot(max(box.x0 - x, 0.0, x - box.x1), max(box.y0 - y, 0.0, y - box.y1))
        for model, (x, y) in pixels.items()
    }
    return min(away, key=lambda model: away[model])


def _pixels(axes: Axes, points: Sequence[CostPoint]) -> list[tuple[float, float]]:
    """The positions of points in the picture in pixels: [(x, y)]."""
    return [tuple(pair) for pair in axes.transData.transform([(point.cost, point.score) for point in points])]


WHAT = "average score against embedding parameters, times and bytes of exported folders, with the Pareto front"
PLOT = Plot("pareto", WHAT, draw)
