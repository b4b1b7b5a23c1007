"""The state, scores, curve and attempts of one run, as a database has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import RowMapping

from hashbench.results.read.queries import CURVE_OF_RUN
from hashbench.store.engine import Store
from hashbench.store.status import (
    Attempt,
    RunStatus,
    attempts,
    best_scores,
    experiment_of_run,
    find_run,
    run_spec,
    runs,
)

Point = dict[str, int | float | None]  # 'step', and the value of each column at it


@dataclass(frozen=True)
class RunLog:
    """A run with its experiment, and all that its attempts left."""

    run: RunStatus  # under the label of its experiment
    experiment: str  # of several the one swept last
    spec: Mapping[str, Any]
    scores: list[RowMapping]  # metric, split, value and reason at its best evaluation
    columns: tuple[str, ...]  # of the curve: 'step', then 'loss (train)' and so on
    curve: list[Point]  # by step, of the finished attempt; empty for a run without one
    attempts: list[Attempt]


def run_log(store: Store, prefix: str) -> RunLog:
    """The log of the run whose id begins with `prefix`. Raises InputError for one that no experiment has."""
    run_id = find_run(store, prefix)
    experiment, label = experiment_of_run(store, run_id)
    listed = (row for row in runs(store, experiment.id) if (row.run_id, row.model) == (run_id, label))
    columns = ["step"]
    points: dict[int, dict[str, float]] = {}
    for row in store.query(CURVE_OF_RUN, run=run_id):
        name = f"{row['name']} ({row['split']})"
        columns += [] if name in columns else [name]
        points.setdefault(int(row["step"]), {})[name] = float(row["value"])
    curve: list[Point] = [{"step": step} | {name: of.get(name) for name in columns[1:]} for step, of in points.items()]
    return RunLog(
        next(listed), experiment.name, run_spec(store, run_id), best_scores(store, run_id), tuple(columns), curve,
        attempts(store, run_id),
    )  # fmt: skip


def thinned(curve: list[Point], most: int) -> list[Point]:
    """At most `most` points of a curve, evenly chosen, the first and the last among them.

    Evaluations, which have other values than losses of train, are chosen apart, at most as many: they are the fewer.

    >>> [point["step"] for point in thinned([{"step": step} for step in range(10)], 4)]
    [0, 3, 6, 9]
    """
    evaluated = [point for point in curve if any(is_evaluation(name) for name in point if point[name] is not None)]
    others = [point for point in curve if point not in evaluated]
    chosen = [part for of in (evaluated, others) for part in _evenly(of, most)]
    return sorted(chosen, key=lambda point: point["step"] or 0)


def is_evaluation(name: str) -> bool:
    """True for the column of a number that an evaluation gives, not a training step."""
    return name != "step" and not name.endswith("(train)")


def _evenly(points: list[Point], most: int) -> list[Point]:
    if len(points) <= most:
        return points
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]
