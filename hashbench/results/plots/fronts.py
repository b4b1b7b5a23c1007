"""Average score against a cost: the models of an experiment's own table, and which of them no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hashbench.results.papers.paper import Column
from hashbench.results.tables.table import Row, Table, comparable


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


@dataclass(frozen=True)
class CostPoint:
    """One model: what it costs, what it reaches in percent, deviation over seeds."""

    name: str
    cost: float
    score: float
    deviation: float = 0.0
    model: str = ""  # without what sets the row apart


def front(points: Sequence[CostPoint]) -> list[CostPoint]:
    """The points that no other beats: none is at most as costly and better, or cheaper and as good. By rising cost.

    >>> points = [CostPoint("a", 1, 5), CostPoint("b", 2, 4), CostPoint("c", 3, 7), CostPoint("d", 1, 4)]
    >>> [point.name for point in front(points)]
    ['a', 'c']
    """
    best: list[CostPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.score)):
        if not best or point.score > best[-1].score:
            best.append(point)
    return best


def score_column(table: Table) -> str:
    """The column of a model's one number: the average, or the first score where there is none; '' for neither."""
    names = [column.name for column in table.columns if column.measure in ("average", "score")]
    return "average" if "average" in names else next(iter(names), "")


def drawn_score(table: Table) -> tuple[Column, str]:
    """The column of that number, and what it is in words: an average with its tasks, or a score."""
    name = score_column(table)
    column = next(column for column in table.columns if column.name == name)
    tasks = ", ".join(part if isinstance(part, str) else " and ".join(part) for part in column.tasks)
    return column, f"average over {tasks}" if tasks else f"score: {name}"


def points_of(table: Table, cost: str) -> list[CostPoint]:
    """The models of the experiment's own table that have both a score and this cost."""
    score_name = score_column(table)
    if not {cost, score_name} <= {column.name for column in table.columns}:
        return []
    points = []
    for row in table.rows:
        price, score = comparable(row.cells[cost]), row.cells[score_name]
        if row.kind == "model" and price is not None and score.value is not None:
            points.append(CostPoint(label_of(row), price, score.value, score.std or 0.0, row.model))
    return points


def label_of(row: Row) -> str:
    """The row's model with what sets it apart from another row of the same model."""
    return row.model + (f" ({row.settings})" if row.settings else "")
