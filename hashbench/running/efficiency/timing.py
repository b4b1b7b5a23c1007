"""Times that can be trusted as ratios: two pieces of work in turn, A B B A, in one process, until the ratio is known.

The speed of a machine drifts, and the second piece of work may find caches warm. In a round A B B A both pieces have
the same mean moment and come first as often, so drift and order cancel in the round's ratio.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from hashbench.common.progress import progress
from hashbench.scores.draws import median_interval

Work = Callable[[], None]
# A doubled batch that saves less than 5 % of the time of a sample brings no gain.
FILLED = 0.95


@dataclass(frozen=True)
class Effort:
    """How many pairs, how precisely and how long two pieces of work are measured."""

    pairs: int  # at least so many, two a round
    # Go on until the interval of the ratio is narrower than this share of the ratio.
    width: float
    # Seconds after which no new round begins once there are `pairs`.
    limit_s: float


@dataclass(frozen=True)
class Pairs:
    """Milliseconds of model and baseline, measured in rounds of two pairs."""

    model_ms: tuple[float, ...]
    baseline_ms: tuple[float, ...]

    @property
    def model(self) -> float:
        """Median of the model's times."""
        return statistics.median(self.model_ms)

    @property
    def ratios(self) -> list[float]:
        """The baseline's time over the model's of every round: the geometric mean of its two pairs."""
        of_pairs = [base / model for model, base in zip(self.model_ms, self.baseline_ms, strict=True)]
        return [math.sqrt(a * b) for a, b in zip(of_pairs[::2], of_pairs[1::2], strict=True)]

    @property
    def ratio(self) -> float:
        """How many times faster than the baseline the model is: the median over the rounds."""
        return statistics.median(self.ratios)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `ratio`; None below six rounds."""
        return median_interval(self.ratios)

    @property
    def baseline(self) -> float:
        """The model's median time multiplied by `ratio`, reported as the baseline's time."""
        return self.model * self.ratio

    def is_known(self, width: float) -> bool:
        """True where the interval of the ratio is at most `width` times as wide as the ratio."""
        return self.interval is not None and self.interval[1] - self.interval[0] <= width * self.ratio


def in_turn(model: Work, baseline: Work, effort: Effort, device: torch.device) -> Pairs:
    """The times of two pieces of work in rounds A B B A, after one unmeasured run of each, until `effort` is spent."""
    for work in (model, baseline):
        timed_ms(work, device)
    model_ms: list[float] = []
    baseline_ms: list[float] = []
    began = time.monotonic()
    while True:
        progress("measuring times")
        model_ms.append(timed_ms(model, device))
        baseline_ms += [timed_ms(baseline, device), timed_ms(baseline, device)]
        model_ms.append(timed_ms(model, device))
        pairs = Pairs(tuple(model_ms), tuple(baseline_ms))
        is_over = time.monotonic() - began > effort.limit_s
        if len(model_ms) >= effort.pairs and (is_over or pairs.is_known(effort.width)):
            return pairs


def filling_batch(work_of: Callable[[int], Work], first: int, most: int, device: torch.device) -> int:
    """The batch size that fills the device: doubled from `first` while a sample takes clearly less time, up to `most`.

    `work_of` makes the work of a batch size. Memory that ends ends the search too.
    """
    size, best = first, math.inf
    while size <= most:
        progress("measuring times")
        try:
            work = work_of(size)
            timed_ms(work, device)
            per_sample = min(timed_ms(work, device) for _ in range(2)) / size
        except torch.cuda.OutOfMemoryError:
            break
        if per_sample > FILLED * best:
            break
        size, best = 2 * size, per_sample
    return max(first, size // 2)


def timed_ms(work: Work, device: torch.device) -> float:
    """Milliseconds that the work takes, until the device has done it too."""
    synchronize(device)
    began = time.perf_counter()
    work()
    synchronize(device)
    return 1000.0 * (time.perf_counter() - began)


def synchronize(device: torch.device) -> None:
    """Waits until the device has nothing left to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
