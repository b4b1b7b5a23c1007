"""Estimates of how long runs will take, from finished runs, arithmetic and this machine's speed; cheap runs first.

For another machine only a named card's published figures count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from graphlib import TopologicalSorter

from hashbench.running.efficiency.cards import Card
from hashbench.running.experiment.identity import whole
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import kind_of, kinds
from hashbench.running.runs.durations import Durations, FinishedRun
from hashbench.store.engine import Store
from hashbench.store.planning import Run
from hashbench.store.status import durations, seconds_of

ROWS_OF_A_TASK = 10_000  # where nothing is known of a task
HISTORY = 200  # finished runs of other sweeps that are looked at, of each kind and encoder size
ENOUGH_S = 10.0  # of finished trainings, before which no time that is left is printed
ENOUGH = 0.1  # of a sweep's work, likewise
# How many times the work of a finished training a run may have. What is not known of that training is how much of its
# time was fixed: the run takes between its time and so many times as long.
FARTHEST = 4.0
RUNS_NEAR = 3  # so many of them: models differ in speed
# How far off the estimate may be at the start of a sweep, as shares of it. Of ranges printed in sweeps that were played
# with runs of other lengths, models and speeds, noise 0 to 20 %, four of five held the truth (test_estimate.py).
EARLIER, LATER = 0.7, 1.5
OFF = 1.5  # how many times too long or short the finished runs of a sweep together may be estimated


class TimeEstimate:
    """Estimates of the seconds that the runs of one sweep take on this machine."""

    def __init__(
        self, store: Store | None, runs: Sequence[Run], n_workers: int, rows: Mapping[str, int] | None = None
    ) -> None:
        """`rows`: numbers of training rows by task, where they are known."""
        self._store, self._runs, self._n_workers, self._rows = store, runs, n_workers, rows or {}
        self._trainings = [name for name, kind in kinds().items() if kind.is_training]
        self.done: set[str] = set()
        self._here: list[FinishedRun] = []  # of this sweep
        self._earlier = self._of_other_sweeps()
        self._durations = Durations(self._earlier, self._trainings)
        self.refresh()

    def refresh(self) -> None:
        """Reads from the store which runs of the sweep are finished, and how long they took."""
        if self._store is None:
            return
        self.take(seconds_of(self._store, list({run.id for run in self._runs})))

    def take(self, taken: Mapping[str, float]) -> None:
        """Takes over which runs of the sweep are finished, with their seconds."""
        by_id = {run.id: run for run in self._runs}
        self.done = set(taken)
        self._here = [self._finished(by_id[run_id], seconds) for run_id, seconds in taken.items()]
        self._durations = Durations([*self._earlier, *self._here], self._trainings)

    def seconds(self, run: Run) -> float:
        """Estimated seconds of one run, by the finished ones that are most like it."""
        return self._durations.seconds(self._finished(run, 0.0))

    def _of_other_sweeps(self) -> list[FinishedRun]:
        """The newest finished runs of other sweeps in the database at the encoder sizes of this one."""
        if self._store is None:
            return []
        ids, sizes = {run.id for run in self._runs}, {run.encoder for run in self._runs}
        rows = [row for row in durations(self._store, most=HISTORY) if row.run_id not in ids and row.encoder in sizes]
        rows = [row for row in rows if row.kind in kinds()]  # of a kind that is not installed nothing can be guessed
        runs = [Run(row.run_id, row.kind, row.model, row.encoder, whole(row.spec), row.task) for row in rows]
        return [self._finished(run, row.seconds) for run, row in zip(runs, rows, strict=True)]

    def _finished(self, run: Run, seconds: float) -> FinishedRun:
        guess = kind_of(run).seconds(run, self._rows_of(run))
        return FinishedRun(run.kind, run.encoder, run.task, run.model, guess=guess, seconds=seconds)

    def _rows_of(self, run: Run) -> int:
        return self._rows.get(str(run.task), ROWS_OF_A_TASK)

    def total(self) -> float:
        """Estimated seconds until the sweep's workers have done all runs, none of which begins before its needs end.

        A run that has begun counts whole.
        """
        alone = 0.0
        shared: dict[str, float] = {}
        for run in {run.id: run for run in self._runs if run.id not in self.done}.values():
            if kind_of(run).measures_time:
                alone += self.seconds(run)  # one at a time
            else:
                shared[run.id] = self.seconds(run)
        return max(sum(shared.values()) / self._n_workers, self._longest(shared)) + alone

    def _longest(self, seconds: Mapping[str, float]) -> float:
        """Seconds of the longest chain of those of the runs that need one another."""
        needs = {run.id: [need for need in run.needs if need in seconds] for run in self._runs if run.id in seconds}
        ends: dict[str, float] = {}
        for run_id in TopologicalSorter(needs).static_order():
            ends[run_id] = seconds[run_id] + max((ends[need] for need in needs[run_id]), default=0.0)
        return max(ends.values(), default=0.0)

    def seconds_left(self) -> float | None:
        """Estimated seconds until the sweep is done; None while too little is finished for an estimate."""
        self.refresh()
        remaining = list({run.id: run for run in self._runs if run.id not in self.done}.values())
        founded = sum(self.seconds(run) for run in remaining if self._is_known(run))
        total, spent = self.total(), self._spent / self._n_workers
        is_known = 2 * founded >= sum(map(self.seconds, remaining)) and spent >= ENOUGH * (spent + total)
        return total if self.done and is_known and self._fits() else None

    def range_left(self) -> tuple[float, float] | None:
        """A range of seconds in which the sweep is likely to be done; None while too little is finished for one.

        It narrows with the root of the share of the work that is left, and is wider upwards, where surprises lie.
        """
        seconds = self.seconds_left()
        if seconds is None:
            return None
        off = math.sqrt(seconds / (seconds + self._spent / self._n_workers)) if seconds else 0.0
        return seconds / (1 + EARLIER * off), seconds * (1 + LATER * off)

    def _fits(self) -> bool:
        """True where the estimates of the sweep's finished runs come to what these took."""
        estimates = sum(self._durations.seconds(run) for run in self._here)
        return self._spent <= OFF * estimates and estimates <= OFF * self._spent

    @property
    def _spent(self) -> float:
        """Seconds that the finished runs of the sweep took."""
        return sum(run.seconds for run in self._here)

    def _is_known(self, run: Run) -> bool:
        """True where finished runs say how long a run takes: of a training, ones whose work is near to its own."""
        if not kind_of(run).is_training:
            return True
        unfinished = self._finished(run, 0.0)
        finished = self._durations.behind(unfinished)  # of its task, whose texts may be longer than others
        near = [like.seconds for like in finished if unfinished.guess <= FARTHEST * like.guess]
        return len(near) >= RUNS_NEAR and sum(near) >= ENOUGH_S


class CardEstimate(TimeEstimate):
    """Estimates of runs' seconds on a named card that all workers share; times measured here are not used."""

    def __init__(
        self, store: Store | None, runs: Sequence[Run], card: Card, resolved: ResolvedExperiment,
        rows: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self._card, self._resolved = card, resolved
        super().__init__(store, runs, n_workers=1, rows=rows)

    def seconds(self, run: Run) -> float:
        """Estimated seconds of one run on the card."""
        return kind_of(run).seconds_on(self._card, run, self._rows_of(run), self._resolved)


def cheap_first(runs: Sequence[Run], seconds: Callable[[Run], float]) -> list[str]:
    """Ids of the runs in ascending order of their cost with all that they need; each after what it needs.

    Of equal ones the one that was planned first comes first.
    """
    by_id = {run.id: run for run in runs}
    needs: dict[str, list[str]] = {}

    def all_needs(run_id: str) -> list[str]:
        """Ids of the runs that a run needs, directly or through others, each after those that it needs."""
        if run_id not in needs:
            direct = [need for need in by_id[run_id].needs if need in by_id]
            needs[run_id] = list(dict.fromkeys(earlier for need in direct for earlier in (*all_needs(need), need)))
        return needs[run_id]

    own = {run_id: seconds(run) for run_id, run in by_id.items()}

    def cost(run_id: str) -> float:
        return own[run_id] + sum(own[need] for need in all_needs(run_id))

    in_turn = sorted(by_id, key=cost)
    return list(dict.fromkeys(next_id for run_id in in_turn for next_id in (*all_needs(run_id), run_id)))
