"""Runs with stored predictions of a given share of right answers, for verdicts that can be told beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.planning import add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Predictions, Result, finish
from tests.databases.empty import new_store
from tests.databases.hand_made import STEP, HandRun

N = 400


@dataclass(frozen=True)
class Answers:
    """A run on two classes, of which a share is answered right; other seeds are right elsewhere."""

    model: str
    right: float
    seed: int | None = 0
    task: str = "sst2"
    n: int = N
    stored: bool = True  # whether the predictions are
    split: str = "validation"
    precision: str = "32"  # that was found
    spec: Mapping[str, Any] = field(default_factory=dict)  # of the model
    start: int | None = None  # the seed of the pre-training that it needs
    is_floor: bool = False  # a trivial baseline on rows that a seed draws

    def run(self) -> HandRun:
        """The run as it is planned."""
        kind = "floor" if self.seed is None or self.is_floor else "finetune"
        return HandRun(self.model, self.task, self.seed, kind=kind, own=("accuracy", self.split), spec=self.spec)

    def result(self) -> Result:
        """What it measured: exactly round(right x n) of n right."""
        targets = np.arange(self.n) % 2
        right = np.zeros(self.n, bool)
        right[: round(self.right * self.n)] = True
        number = sum(map(ord, self.model)) + (self.seed or 0)
        right = np.random.default_rng(number).permutation(right)
        score = MetricRow("accuracy", float(right.mean()), split=self.split, step=STEP)
        outputs = np.where(right, targets, 1 - targets)
        kept = [Predictions(self.split, "best", outputs, targets, f"rows-{self.n}")] if self.stored else []
        metrics = [score, MetricRow("best_step", STEP), MetricRow("last_step", STEP)]
        notes = {} if self.is_floor else {"precision_found": self.precision}
        return Result(metrics, predictions=kept, seconds=1.0, notes=notes)


def build(path: Path, runs: Sequence[Answers | HandRun], **config: object) -> Store:
    """The database of an experiment `by-hand` in which these runs are finished; its baseline is bert-mlm."""
    store = new_store(path)
    starts = {(run.model, run.start) for run in runs if isinstance(run, Answers) and run.start is not None}
    pretrainings = {start: HandRun(start[0], None, start[1], kind="pretrain") for start in sorted(starts)}
    needed = {start: run.row() for start, run in pretrainings.items()}
    rows, results = list(needed.values()), {needed[start].id: run.result() for start, run in pretrainings.items()}
    for run in runs:
        row = run.run().row() if isinstance(run, Answers) else run.row()
        if isinstance(run, Answers) and run.is_floor:
            row = replace(row, seed=run.seed)  # which a HandRun leaves out
        if isinstance(run, Answers) and run.start is not None:
            row = replace(row, needs=(needed[run.model, run.start].id,))
        rows.append(row)
        results[row.id] = run.result()
    assert len(results) == len(runs) + len(needed)
    experiment = add_experiment(store, "by-hand", {"name": "by-hand", **config}, rows, baseline="bert-mlm")
    while held := claim(store, experiment, worker="w", lease_s=60, max_attempts=1, environment=Environment("h")):
        finish(store, held, results[held.run_id])
    return store


def claims_file(folder: Path, rows: Sequence[dict[str, str]]) -> Path:
    """A CSV of claims in a folder."""
    names = ["id", "kind", "left", "right", "column", "bound", "expected", "unit", "needs", "note", "paper"]
    lines = [",".join('"' + row.get(name, "") + '"' for name in names) for row in rows]
    (folder / "own.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    return folder / "own.csv"
