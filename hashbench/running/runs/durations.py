"""Estimates of how long runs take, by arithmetic and this machine's speed, corrected by finished runs.

Of a finished run a fixed part is separate from what grows with its work.

What starts a run (imports, reading data, preparing a corpus, evaluations) costs the same for 20 steps as for 20,000. To
take the whole time of a small run for its rate is wrong by orders of magnitude.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from hashbench.data.tasks.base import LocatedTask
from hashbench.models.encoders.base import encoder_config

# The share of a plain matrix product's speed that training reaches at dim 128, with everything around it.
SHARE_OF_PEAK = 0.2
MOST_OF_PEAK = 0.5  # what wide encoders reach: measured 0.5 at dim 768
# A guess, until runs were measured: a token of a model without layers costs about as much as so many weights, as its
# rows are read and added up.
LEAST_WEIGHTS = 1_000
# Before anything was measured: seconds that a run takes beside its work, and its work over the guess of it.
FIXED_S, RATE = 3.0, 1.0
RATES = np.geomspace(1 / 64, 64, 73)
# How far a level may be from the one above it, as the deviation of a logarithm; a run's time varies by that of NOISE.
APART, NOISE = math.log(4), math.log(1.3)
# The factor of a model counts like so many runs without one: models differ more than runs of one do.
PRIOR_RUNS = 0.5


def training_seconds(encoder: Mapping[str, Any], tokens: float) -> float:
    """Seconds to train on so many tokens: 6 operations a weight and token, at a share of this machine's peak.

    `encoder`: the block of a spec (kind, size and what differs from it).
    """
    shape = dict(encoder)
    config = encoder_config(shape.pop("kind"), shape.pop("size"), **shape)
    weights = config.layers * (4 * config.dim**2 + 2 * config.dim * config.feed_forward)
    weights = max(weights, LEAST_WEIGHTS)
    share = min(MOST_OF_PEAK, SHARE_OF_PEAK * max(1.0, config.dim / 128))
    return float(6 * weights * tokens / (share * operations_per_second()))


@cache
def operations_per_second() -> float:
    """Operations a second of a matrix product on this machine, a multiply-add counted as two.

    On a processor the CPU seconds of one thread count, times the number of threads: beside other work two threads wait
    for one another, and a product then takes up to a hundred times as long. The best of eight trials.
    """
    size, on_card = 1024, torch.cuda.is_available()
    matrix = torch.randn(size, size, device="cuda" if on_card else "cpu")
    threads, seconds = torch.get_num_threads(), []
    clock = time.perf_counter if on_card else time.thread_time
    try:
        torch.set_num_threads(1)
        for _ in range(8):
            began = clock()
            float((matrix @ matrix)[0, 0])  # waits for the device
            seconds.append(clock() - began)
    finally:
        torch.set_num_threads(threads)
    return (1 if on_card else threads) * 2 * size**3 / min(seconds)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with its seconds by arithmetic (`guess`) and its real ones (`seconds`)."""

    kind: str
    encoder: str
    task: str | None
    model: str
    guess: float
    seconds: float


@dataclass(frozen=True)
class TimeLine:
    """An estimate of a run's seconds from those by arithmetic, its guess: `fixed` + `rate` x guess."""

    fixed: float = FIXED_S
    rate: float = RATE

    def at(self, guess: float) -> float:
        """Estimated seconds of a run with this guess."""
        return self.fixed + self.rate * guess


def fitted(runs: Sequence[FinishedRun], above: TimeLine) -> TimeLine:
    """The line nearest to the runs' times by ratios, and near the line `above` where the runs decide little.

    A single small run changes the fixed part, a single large one the rate: each where it explains more.

    >>> small, large = (FinishedRun("pretrain", "tiny", None, "m", *pair) for pair in ((0.05, 20.0), (100.0, 400.0)))
    >>> 0.5 < fitted([small], TimeLine()).rate < 2, 3 < fitted([large], TimeLine()).rate < 4.5
    (True, True)
    """
    timed = [run for run in runs if run.seconds > 0 and run.guess > 0]
    if not timed:
        return above
    guesses = np.array([run.guess for run in timed])
    seconds = np.array([run.seconds for run in timed])
    fixed = np.unique(np.append(np.geomspace(above.fixed / 64, max(above.fixed * 4, seconds.max()), 49), above.fixed))
    grid_fixed, grid_rate = np.meshgrid(fixed, above.rate * RATES, indexing="ij")  # (fixed, rates)
    at = grid_fixed[..., None] + grid_rate[..., None] * guesses  # (fixed, rates, runs)
    loss = np.abs(np.log(at / seconds)).sum(-1) / NOISE  # like a median: one odd run counts once
    loss += (np.log(grid_fixed / above.fixed) ** 2 + np.log(grid_rate / above.rate) ** 2) / APART**2
    best = np.unravel_index(loss.argmin(), loss.shape)
    return TimeLine(float(grid_fixed[best]), float(grid_rate[best]))


class Durations:
    """Estimates of runs' seconds from finished runs: of the same task first, then of the kind, then of any training."""

    def __init__(self, finished: Iterable[FinishedRun], trainings: Iterable[str]) -> None:
        """`trainings`: the kinds that train, which have similar rates."""
        self._finished = list(finished)
        self._trainings = set(trainings)
        self._lines: dict[tuple[str | None, str | None, str], TimeLine] = {}
        self._factors = {model: self._factor(model) for model in {run.model for run in self._finished}}

    def seconds(self, run: FinishedRun) -> float:
        """Estimated seconds of a run from its guess; its `seconds` are not read."""
        factor = self._factors[run.model] if run.model in self._factors else 1.0
        return factor * self._line(run).at(run.guess)

    def behind(self, run: FinishedRun) -> list[FinishedRun]:
        """The finished runs of a run's kind and encoder size, and of its task if it has one."""
        return self._of(run.kind, run.task, run.encoder)

    def _line(self, run: FinishedRun) -> TimeLine:
        levels: list[tuple[str | None, str | None]] = [(run.kind, None), (run.kind, run.task)]
        if run.kind in self._trainings:
            levels.insert(0, (None, None))
        above = TimeLine() if run.kind in self._trainings else TimeLine(FIXED_S / 10, RATE)
        for kind, task in levels:
            key = (kind, task, run.encoder)
            if key not in self._lines:
                self._lines[key] = fitted(self._of(*key), above)
            above = self._lines[key]
            if kind is None:  # a rate is common to all trainings; what begins one (a corpus, imports) is not
                above = TimeLine(FIXED_S, above.rate)
        return above

    def _of(self, kind: str | None, task: str | None, encoder: str) -> list[FinishedRun]:
        """Finished runs at an encoder size, of a kind (None: any training) and, unless None, of a task."""
        runs = [run for run in self._finished if run.encoder == encoder]
        runs = [run for run in runs if (run.kind in self._trainings if kind is None else run.kind == kind)]
        return [run for run in runs if task is None or run.task == task]

    def _factor(self, model: str) -> float:
        """The factor by which a model's trainings exceed their estimates, drawn towards 1 where they are few."""
        trained = [
            run for run in self._finished if run.model == model and run.kind in self._trainings and run.seconds > 0
        ]
        off = [math.log(run.seconds / self._line(run).at(run.guess)) for run in trained]
        return math.exp(sum(off) / (len(off) + PRIOR_RUNS))


def likely_rows(tasks: Sequence[LocatedTask]) -> dict[str, int]:
    """The approximate number of training rows by task, of tasks whose files or publishers give the number."""
    rows = {}
    for located in tasks:
        task, table = located.task, located.tables.get("train")
        n_rows = (table.about_n_rows() if table is not None else None) or task.official_rows.get("train")
        if n_rows:
            rows[task.name] = n_rows if task.max_rows is None else min(n_rows, task.max_rows)
    return rows
