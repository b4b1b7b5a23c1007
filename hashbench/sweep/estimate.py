"""How long runs will take: from finished runs of their kind, else from their arithmetic and this machine's speed.

For another machine only a named card's published figures count.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from hashbench.efficiency.cards import Card
from hashbench.experiment.resolved import ResolvedExperiment
from hashbench.runs.base import Run
from hashbench.runs.registry import kind_of, kinds
from hashbench.store.engine import Store
from hashbench.store.status import done_ids, durations

ROWS_OF_A_TASK = 10_000  # where nothing is known of a task


class TimeEstimate:
    """Estimates for the runs of one sweep."""

    def __init__(
        self, store: Store | None, runs: Sequence[Run], n_workers: int, rows: Mapping[str, int] | None = None
    ) -> None:
        """`rows`: training rows of the tasks, where they are known."""
        self._store, self._runs, self._n_workers, self._rows = store, runs, n_workers, rows or {}
        self._seen: dict[tuple[str, str, str | None], list[float]] = {}
        self.done: set[str] = set()
        self.refresh()

    def refresh(self) -> None:
        """Takes in what has been finished since."""
        if self._store is None:
            return
        self.done = done_ids(self._store, [run.id for run in self._runs])
        self._seen = {}
        for row in durations(self._store):
            self._seen.setdefault((row.kind, row.encoder, row.task), []).append(row.seconds)

    def seconds(self, run: Run) -> float:
        """Seconds of one run: the median of its like, or a rough guess."""
        like = self._seen.get((run.kind, run.encoder, run.task))
        return statistics.median(like) if like else self._guess(run) * self._correction(run.kind)

    def _correction(self, kind: str) -> float:
        """How far guesses of a kind were off on this machine so far: the median over its finished runs.

        Before the first training of a kind those of other kinds tell more than nothing.
        """
        ratios: dict[str, list[float]] = {}
        for run in self._runs:
            if like := self._seen.get((run.kind, run.encoder, run.task)):
                ratios.setdefault(run.kind, []).append(statistics.median(like) / self._guess(run))
        trainings = [name for name, each in kinds().items() if each.is_training]
        for each in (kind, *(trainings if kind in trainings else ())):
            if each in ratios:
                return statistics.median(ratios[each])
        return 1.0

    def _guess(self, run: Run) -> float:
        known = run.task is not None and run.task in self._rows
        return kind_of(run).seconds(run, self._rows[str(run.task)] if known else ROWS_OF_A_TASK)

    def total(self) -> float:
        """Seconds until all is done with these workers."""
        alone = shared = 0.0
        for run in {run.id: run for run in self._runs if run.id not in self.done}.values():
            if kind_of(run).measures_time:
                alone += self.seconds(run)  # one at a time
            else:
                shared += self.seconds(run)
        return shared / self._n_workers + alone

    def left(self) -> float | None:
        """Seconds until the sweep is done, None before anything is known."""
        self.refresh()
        return self.total() if self.done else None


class CardEstimate(TimeEstimate):
    """Estimates for a named card, which all workers share; what runs of this machine took says nothing of it."""

    def __init__(self, store: Store | None, runs: Sequence[Run], card: Card, resolved: ResolvedExperiment) -> None:
        self._card, self._resolved = card, resolved
        super().__init__(store, runs, n_workers=1)

    def seconds(self, run: Run) -> float:
        """Seconds of one run on the card."""
        return kind_of(run).seconds_on(self._card, run, ROWS_OF_A_TASK, self._resolved)
