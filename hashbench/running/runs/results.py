"""Curves, predictions and notes of runs as the store takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from hashbench.data.tasks.base import SplitOutputs, Task
from hashbench.data.tasks.items import LinkSet
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.training.curves import Point
from hashbench.store.result import Checkpoint, MetricRow, Predictions


def stored_points(points: Iterable[Point]) -> list[MetricRow]:
    """Points of curves."""
    return [MetricRow(p.name, p.value, split=p.split, step=p.step, reason=p.reason) for p in points]


def stored_predictions(split: str, checkpoint: Checkpoint, outputs: np.ndarray, targets: np.ndarray) -> Predictions:
    """Outputs (n, ...) and targets (n,) of one split with a fingerprint of the rows they belong to."""
    fingerprint = hashlib.sha256(np.ascontiguousarray(targets).tobytes()).hexdigest()[:16]
    return Predictions(split, checkpoint, outputs, targets, fingerprint)


def scored_metrics(task: Task, result: SplitOutputs, split: str, step: int = 0) -> list[MetricRow]:
    """Every score of the outputs on a split."""
    return [
        MetricRow(score.metric, score.value, split=split, step=step, reason=score.reason, condition=score.condition)
        for score in task.kind.scores(task, result)
    ]


def notes_on(data: TaskData | LinkSet) -> dict[str, str]:
    """What a table must say about results on these data."""
    return {"origin": data.origin, "data": "; ".join(data.notes)}
