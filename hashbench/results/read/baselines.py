"""Trivial baselines beside the models: what has learned nothing, by the scores that are read."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from hashbench.results.read.entries import Entry
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import SeedScore
from hashbench.scores.registry import metric_of

MAJORITY = "majority"


def baselines(measured: Measured, tasks: Sequence[str]) -> list[Entry]:
    """The trivial baselines that have a run on any of the tasks."""
    return [entry for entry in measured.entries if entry.is_baseline and any(map(entry.of_task, tasks))]


def baseline_value(scores: Sequence[SeedScore]) -> float | None:
    """A baseline's score in its natural range; None where it was not measured. Where it is undefined, what
    counts of a constant prediction: a correlation is 0."""
    known = [score.value for score in scores if score.value is not None]
    if known:
        return known[0]
    counting = (metric.of_constant for score in scores if (metric := metric_of(score.metric)))
    return next((value for value in counting if value is not None), None)


def hollow_accuracy(measured: Measured, entry: Entry, task: str, metric: str, split: str) -> tuple[float, float] | None:
    """Accuracy of a model and of the majority class, where the metric says little because the model's is lower: its F1
    then measures how often it says the rarer class. None where it is not lower, not known, or of no concern."""
    known_metric = metric_of(metric)
    if known_metric is None or not known_metric.needs_accuracy:
        return None
    ours = _accuracy(measured, entry, task, split)
    for majority in baselines(measured, [task]):
        theirs = _accuracy(measured, majority, task, split) if majority.model == MAJORITY else None
        if ours is not None and theirs is not None and ours < theirs:
            return ours, theirs
    return None


def _accuracy(measured: Measured, entry: Entry, task: str, split: str) -> float | None:
    values = [score.value for score in measured.read(entry, task, "accuracy", split) if score.value is not None]
    return statistics.fmean(values) if values else None
