"""The spread over examples: 95 % bootstrap intervals from stored predictions. It says nothing about other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.results.measured import Seeded
from hashbench.results.samples import draw_seed
from hashbench.scores import METRICS
from hashbench.statistics.draws import drawn
from hashbench.statistics.estimates import percentile_interval
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint
from hashbench.store.status import predictions

DRAWS = 1000  # of a table's many cells; comparisons take ten times as many


@dataclass(frozen=True)
class Interval:
    """The ends in the metric's natural range, and the number of examples drawn from."""

    low: float
    high: float
    n: int


class Examples:
    """Intervals of the scores of one store.

    The metric is computed anew from each draw (Matthews, F1 and Spearman are no means), averaged over seeds, which
    share their draws, and for an average over tasks over these, which are drawn independently of each other.
    """

    def __init__(self, store: Store, checkpoint: Checkpoint, *, draws: int = DRAWS) -> None:
        self.store = store
        self.checkpoint = checkpoint
        self.draws = draws
        self._known: dict[
            tuple[str, ...], tuple[np.ndarray, int] | None
        ] = {}  # a task counts in its cell and the average

    def interval(self, scores: Sequence[Seeded]) -> Interval | None:
        """Of the mean over the seeds of one model on one task; None where predictions are not stored."""
        drawn = self._drawn(scores)
        return None if drawn is None else _ends(*drawn)

    def average_interval(self, by_task: Sequence[Sequence[Seeded]]) -> Interval | None:
        """Of the average over tasks."""
        sums, n = np.zeros(self.draws), 0
        for scores in by_task:
            drawn = self._drawn([score for score in scores if score.value is not None])
            if drawn is None:
                return None
            sums += drawn[0]
            n += drawn[1]
        return _ends(sums / len(by_task), n) if by_task else None

    def _drawn(self, scores: Sequence[Seeded]) -> tuple[np.ndarray, int] | None:
        """The drawn scores (draws,) of one model on one task, and the number of examples."""
        key = tuple(score.run.run_id for score in scores)
        if key not in self._known:
            self._known[key] = self._draw(scores)
        return self._known[key]

    def _draw(self, scores: Sequence[Seeded]) -> tuple[np.ndarray, int] | None:
        """None unless every run has predictions and all speak of the same examples."""
        found = [predictions(self.store, score.run.run_id, score.split, self.checkpoint) for score in scores]
        stored = [one for one in found if one is not None]
        if not stored or len(stored) < len(found) or len({one.index_fingerprint for one in stored}) > 1:
            return None
        metric, targets, outputs = scores[0].metric, stored[0].targets, [one.outputs for one in stored]
        if metric not in METRICS:
            return None
        by_run = drawn(metric, targets, outputs, draws=self.draws, seed=draw_seed(scores[0].run.task or ""))
        return by_run.mean(axis=0), len(targets)


def _ends(values: np.ndarray, n: int) -> Interval | None:
    """The percentile interval of the draws that are defined; None if none is."""
    ends = percentile_interval(values)
    return None if ends is None else Interval(*ends, n)
