"""The time that a sweep has left: the mean seconds of its finished runs of each kind, for those still to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from hashbench.running.runs.base import kind_of
from hashbench.store.planning import Run


def seconds_left(runs: Sequence[Run], taken: Mapping[str, float], n_workers: int) -> float | None:
    """Estimated seconds until so many workers have done all runs; None before a run of each kind is finished.

    `taken`: seconds of the finished runs, by id. Runs that measure time are done one at a time.

    >>> runs = [Run(id, "finetune", "m", "tiny", {}) for id in "abcd"]
    >>> seconds_left(runs, {"a": 10.0, "b": 20.0}, 2), seconds_left(runs, {}, 2)
    (15.0, None)
    """
    by_kind: dict[str, list[Run]] = {}
    for run in {run.id: run for run in runs}.values():
        by_kind.setdefault(run.kind, []).append(run)
    total = 0.0
    for of_kind in by_kind.values():
        finished = [taken[run.id] for run in of_kind if run.id in taken]
        n_left = len(of_kind) - len(finished)
        if n_left and not finished:
            return None
        if n_left:
            at_a_time = 1 if kind_of(of_kind[0]).measures_time else n_workers
            total += fmean(finished) * n_left / at_a_time
    return total
