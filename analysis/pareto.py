"""Average score against embedding parameters and against time per sample, each with its Pareto front.

python -m analysis.pareto --db results.db -o figures
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from analysis.figures import QUIET, foot, head, open_results, parser, save, widen
from hashbench.errors import InputError
from hashbench.report.main import tables
from hashbench.report.rows import Row, Table, comparable
from hashbench.store.engine import Store


@dataclass(frozen=True)
class Cost:
    """A column of the experiment's own table, and how it is drawn."""

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
)
FRONT = "#c44e00"
POINT = "#1f4e79"
LEAST = 4.0  # percent that the vertical axis spans
SIZE = (9.0, 6.2)  # inches
STEP = 11.0  # points between two places of a name


@dataclass(frozen=True)
class Point:
    """One model: what it costs, what it reaches in percent, deviation over seeds."""

    name: str
    cost: float
    score: float
    deviation: float = 0.0


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: none is at most as costly and better, or cheaper and as good. By rising cost.

    >>> [p.name for p in front([Point("a", 1, 5), Point("b", 2, 4), Point("c", 3, 7), Point("d", 1, 4)])]
    ['a', 'c']
    """
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.score)):
        if not best or point.score > best[-1].score:
            best.append(point)
    return best


def points_of(table: Table, cost: str) -> list[Point]:
    """The models of the experiment's own table that have both an average and this cost."""
    found = []
    for row in table.rows:
        names = {column.name for column in table.columns}
        if row.kind != "model" or not {cost, "average"} <= names:
            continue
        price, score = comparable(row.cells[cost]), row.cells["average"]
        if price is not None and score.value is not None:
            found.append(Point(_name(row), price, score.value, score.std or 0.0))
    return found


def _name(row: Row) -> str:
    return row.model + (f" ({row.settings})" if row.settings else "")


def draw(table: Table, cost: Cost, folder: Path, *, format: str) -> Path | None:
    """The figure's file, or None where nothing was measured to draw."""
    points = points_of(table, cost.column)
    if not points:
        return None
    figure = plt.figure(figsize=SIZE)
    top = head(figure, f"{table.experiment}: average score and {cost.title}", table.warnings)
    average = next(column for column in table.columns if column.name == "average")
    tasks = ", ".join(one if isinstance(one, str) else " and ".join(one) for one in average.tasks)
    bottom = foot(figure, table, also=[f"average over {tasks}", "bars: sd over seeds"])
    under = 0.6 / SIZE[1]  # of the axis and its label
    axes = figure.add_axes((0.1, bottom + under, 0.88, top - bottom - under - 0.02))
    _points(axes, points)
    axes.set_xlabel(cost.label)
    axes.set_ylabel("average score, percent")
    axes.set_xscale(cost.scale)
    axes.margins(x=0.15, y=0.15)
    widen(axes, LEAST)
    axes.grid(alpha=0.25)
    _floors(axes, table)
    axes.legend(loc="lower right", frameon=False)
    _label(axes, points)
    return save(figure, folder, cost.file, format)


def _points(axes: Axes, points: Sequence[Point]) -> None:
    """All models, those on the front filled, and the front: the best score that a budget buys."""
    best = front(points)
    costs = [point.cost for point in best] + [max(point.cost for point in points)]
    scores = [point.score for point in best] + [best[-1].score]
    axes.step(costs, scores, where="post", color=FRONT, lw=1.5, label="Pareto front", zorder=1)
    for point in points:
        colour = FRONT if point in best else POINT
        axes.errorbar(
            point.cost, point.score, yerr=point.deviation or None, fmt="o", ms=6, capsize=3, zorder=3,
            color=colour, mfc=colour if point in best else "white",
        )  # fmt: skip


def _floors(axes: Axes, table: Table) -> None:
    """A dashed line at the average of each floor; one below the plot is named at its lower edge."""
    low, high = axes.get_ylim()
    below = []
    for row in table.rows:
        score = row.cells["average"].value
        if row.kind != "floor" or score is None:
            continue
        if not low <= score <= high:
            below.append(f"{row.model} {score:.1f} ({'below' if score < low else 'above'})")
            continue
        axes.axhline(score, color=QUIET, ls="--", lw=1, zorder=0)
        axes.annotate(
            f"{row.model} {score:.1f}", (0.005, score), xycoords=("axes fraction", "data"), xytext=(0, 2),
            textcoords="offset points", fontsize=8, color=QUIET,
        )  # fmt: skip
    axes.annotate(", ".join(below), (0.005, 0.01), xycoords="axes fraction", fontsize=8, color=QUIET)
    axes.set_ylim(low, high)


def _label(axes: Axes, points: Sequence[Point]) -> None:
    """The models' names beside their points, each at the first place where it covers nothing."""
    canvas = FigureCanvasAgg(axes.figure)  # type: ignore[arg-type]
    canvas.draw()
    renderer = canvas.get_renderer()
    taken = [_around(axes, point) for point in points] + _on_front(axes, front(points))
    frame = axes.get_window_extent()
    for point in sorted(points, key=lambda point: -point.score):
        for dx, dy, side in _places():
            line = {"arrowstyle": "-", "lw": 0.4, "color": QUIET} if abs(dy) > STEP else None
            text = axes.annotate(
                point.name, (point.cost, point.score), xytext=(dx, dy), textcoords="offset points", ha=side,
                va="center", fontsize=8, arrowprops=line,
            )  # fmt: skip
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)  # the annotation's own would hold its line too
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
            if inside and not any(box.overlaps(other) for other in taken):
                break
            text.remove()
        else:  # covered rather than left out
            box = axes.annotate(point.name, (point.cost, point.score), fontsize=8).get_window_extent(renderer)
        taken.append(box)


def _on_front(axes: Axes, best: Sequence[Point]) -> list[Bbox]:
    """The line of the front in pixels, which no name may cross."""
    boxes = []
    corners: list[tuple[float, float]] = [tuple(axes.transData.transform((point.cost, point.score))) for point in best]
    corners.append((axes.get_window_extent().x1, corners[-1][1]))
    for (x, y), (next_x, next_y) in pairwise(corners):
        boxes.append(Bbox.from_extents(x, y - 2, next_x, y + 2))
        boxes.append(Bbox.from_extents(next_x - 2, y, next_x + 2, next_y))
    return boxes


def _places() -> list[tuple[float, float, str]]:
    """Offsets in points to try, near ones first: right and left, then further up and down."""
    return [(dx, dy, side) for dy in _away() for dx, side in ((9, "left"), (-9, "right"))]


def _away() -> list[float]:
    return [0, *(sign * STEP * step for step in range(1, 12) for sign in (1, -1))]


def _around(axes: Axes, point: Point) -> Bbox:
    x, y = axes.transData.transform((point.cost, point.score))
    return Bbox.from_bounds(x - 8, y - 8, 16, 16)


def run(store: Store, *, experiment: str | None, output: Path, format: str = "png") -> list[Path]:
    """The files that were written.

    Raises InputError where no model has an average and a cost.
    """
    table = tables(store, experiment=experiment)[0]
    paths = [draw(table, cost, output, format=format) for cost in COSTS]
    written = [path for path in paths if path is not None]
    if not written:
        raise InputError(
            f"{store.name}: experiment {table.experiment!r} has no model with an average and a size; "
            "finish its sweep, or set `efficiency: true`"
        )
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code."""
    options = parser(__doc__.splitlines()[0] if __doc__ else "").parse_args(arguments)
    try:
        asked = {name: getattr(options, name) for name in ("experiment", "output", "format")}
        for path in run(open_results(options.db), **asked):
            print(path)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
