"""Trivial baselines beside the models: what has learned nothing, by the scores that are read."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from hashbench.results.entries import Entry
from hashbench.results.measured import Measured
from hashbench.results.runs import SeedScore

MAJORITY = "majority"
CORRELATIONS = ("matthews", "pearson", "spearman")


def baselines(measured: Measured, tasks: Sequence[str]) -> list[Entry]:
    """The trivial baselines that have a run on any of the tasks."""
    return [entry for entry in measured.entries if entry.is_baseline and any(map(entry.of_task, tasks))]


def baseline_value(scores: Sequence[SeedScore]) -> float | None:
    """A baseline's score in its natural range; None where it was not measured. A constant prediction correlates with
    nothing, so that an undefined correlation counts as 0."""
    known = [score.value for score in scores if score.value is not None]
    if known:
        return known[0]
    return 0.0 if any(score.metric in CORRELATIONS for score in scores) else None


def f1_without_accuracy(measured: Measured, entry: Entry, task: str, split: str) -> tuple[float, float] | None:
    """Accuracy of a model and of the majority class, where the model's is lower: then its F1 measures how often it says
    the rarer class. None where it is not lower, or not known."""
    ours = _accuracy(measured, entry, task, split)
    for majority in baselines(measured, [task]):
        theirs = _accuracy(measured, majority, task, split) if majority.model == MAJORITY else None
        if ours is not None and theirs is not None and ours < theirs:
            return ours, theirs
    return None


def _accuracy(measured: Measured, entry: Entry, task: str, split: str) -> float | None:
    values = [score.value for score in measured.read(entry, task, "accuracy", split) if score.value is not None]
    return statistics.fmean(values) if values else None
