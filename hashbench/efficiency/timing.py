"""Times that can be trusted as ratios: two pieces of work in turn, A B A B, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Work = Callable[[], None]


@dataclass(frozen=True)
class Pairs:
    """Milliseconds of model and baseline, measured in turn."""

    model_ms: tuple[float, ...]
    baseline_ms: tuple[float, ...]

    @property
    def model(self) -> float:
        """Median of the model's times."""
        return statistics.median(self.model_ms)

    @property
    def baseline(self) -> float:
        """The baseline's time that goes with it: the model's median times the median of the ratios of the pairs.

        The machine's speed drifts between pairs and not within one, so the ratio of each pair is the trusted number;
        the stored pair of times has that ratio.
        """
        ratios = [theirs / ours for ours, theirs in zip(self.model_ms, self.baseline_ms, strict=True)]
        return self.model * statistics.median(ratios)


def in_turn(model: Work, baseline: Work, *, pairs: int, device: torch.device) -> Pairs:
    """Runs the two in turn after one unmeasured round of each."""
    for work in (model, baseline):
        timed_ms(work, device)
    times = [(timed_ms(model, device), timed_ms(baseline, device)) for _ in range(pairs)]
    return Pairs(tuple(ours for ours, _ in times), tuple(theirs for _, theirs in times))


def timed_ms(work: Work, device: torch.device) -> float:
    """Milliseconds until the work is done on the device too."""
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
