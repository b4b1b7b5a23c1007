"""How long runs will take: from finished runs of their kind, else from their arithmetic and this machine's speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch

from hashbench.encoders.registry import encoder_config
from hashbench.store.engine import Store
from hashbench.store.status import done_ids, durations
from hashbench.sweep.plan import Run
from hashbench.tasks.catalogue import known_kinds
from hashbench.tasks.items import ItemKind

TOKENS_PER_ROW = 40  # of a fine-tuning input, about GLUE's mean over its tasks
ROWS_OF_A_TASK = 10_000  # where nothing is known of a task
SHARE_OF_PEAK = 0.2  # of a plain matrix product that training reaches at dim 128, with everything around it
MOST_OF_PEAK = 0.5  # what wide encoders reach: measured 0.5 at dim 768
GUESSED_ALIKE = ("pretrain", "finetune", "entities")  # by the same arithmetic
FLOOR_S, EFFICIENCY_S, ROBUSTNESS_S = 2.0, 60.0, 30.0  # sizes of what has no matrix products worth counting


class Estimate:
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

    def seconds(self, run: Run) -> float | None:
        """Seconds of one run: the median of its like, or a rough guess; None where there is neither."""
        like = self._seen.get((run.kind, run.encoder, run.task))
        if like:
            return statistics.median(like)
        rough = self._guess(run)
        return None if rough is None else rough * self._correction(run.kind)

    def _correction(self, kind: str) -> float:
        """How far guesses of a kind were off on this machine so far: the median over its finished runs.

        Before the first of a kind the other kind of training tells more than nothing.
        """
        ratios: dict[str, list[float]] = {}
        for run in self._runs:
            like = self._seen.get((run.kind, run.encoder, run.task))
            rough = self._guess(run) if like else None
            if like and rough:
                ratios.setdefault(run.kind, []).append(statistics.median(like) / rough)
        for each in (kind, *(GUESSED_ALIKE if kind in GUESSED_ALIKE else ())):
            if each in ratios:
                return statistics.median(ratios[each])
        return 1.0

    def _guess(self, run: Run) -> float | None:
        known = run.task is not None and run.task in self._rows
        return guess(run, self._rows[str(run.task)] if known else ROWS_OF_A_TASK)

    def total(self) -> tuple[float, int]:
        """Seconds until all is done with these workers, and the number of runs without an estimate."""
        open_runs = list({run.id: run for run in self._runs if run.id not in self.done}.values())
        each = [self.seconds(run) for run in open_runs]
        known = [seconds for seconds in each if seconds is not None]
        shared = sum(s for run, s in zip(open_runs, each, strict=True) if s is not None and run.kind != "efficiency")
        alone = sum(known) - shared  # timings run one at a time
        return shared / self._n_workers + alone, len(each) - len(known)

    def left(self) -> float | None:
        """Seconds until the sweep is done, None before anything is known."""
        self.refresh()
        total, _ = self.total()
        return total if self.done else None


def guess(run: Run, rows: int = ROWS_OF_A_TASK) -> float | None:
    """Seconds from the arithmetic of training: 6 operations a weight and token, at a share of this machine's peak."""
    if run.kind == "floor":
        return FLOOR_S
    if run.kind == "efficiency":
        return EFFICIENCY_S
    if run.kind == "robustness":
        return ROBUSTNESS_S
    shape = dict(run.spec["model"]["encoder"])
    config = encoder_config(shape.pop("kind"), shape.pop("size"), **shape)
    weights = config.layers * (4 * config.dim**2 + 2 * config.dim * config.feed_forward)
    if run.kind == "pretrain":
        recipe = run.spec["pretrain"]
        tokens = recipe["steps"] * recipe["batch_size"] * recipe["sequence_length"]
    else:
        tokens = _tokens_of_task(run.spec, rows)
    share = min(MOST_OF_PEAK, SHARE_OF_PEAK * max(1.0, config.dim / 128))
    return float(6 * weights * tokens / (share * operations_per_second()))


def _tokens_of_task(spec: Mapping[str, Any], rows: int) -> int:
    """Tokens that a training on a task reads."""
    recipe = spec["finetune"]
    shown = recipe["steps"] * recipe["batch_size"] if recipe.get("steps") else recipe["epochs"] * rows  # rows
    for kind in known_kinds().values():
        if isinstance(kind, ItemKind) and kind.block is not None and kind.name in spec:
            row = kind.row_length(kind.block(**spec[kind.name]))
            return int(shown * row.items * spec["model"]["coder"].get("maps", 1))
    return int(shown * TOKENS_PER_ROW)


@cache
def operations_per_second() -> float:
    """Multiply-adds, counted as two, that a matrix product of this machine does in a second: the best of eight, as
    other work on the machine halts some of them."""
    size = 1024
    device = "cuda" if torch.cuda.is_available() else "cpu"
    left = torch.randn(size, size, device=device)
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        float((left @ left)[0, 0])  # waits for the device
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds)
