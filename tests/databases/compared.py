"""Databases with stored predictions whose differences can be worked out by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hashbench.common.measured import MetricRow
from hashbench.scores.base import evaluate
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Predictions, Result, finish

N = 40
TARGETS = np.arange(N) % 2


@dataclass(frozen=True)
class Trained:
    """A finished fine-tuning that has some of N examples wrong. `wrong`: their numbers, by split."""

    model: str
    wrong: Mapping[str, Sequence[int]]
    seed: int | None = 0
    task: str = "sst2"
    metric: str = "accuracy"
    encoder: str = "tiny"
    rows: str = "rows"  # fingerprint of the row ids
    data: str = "data"
    kept: bool = True  # its predictions
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)  # in place of wrong ones
    targets: np.ndarray = field(default_factory=lambda: TARGETS)

    def row(self) -> Run:
        """The run as it is planned."""
        spec = {
            "kind": "finetune" if self.seed is not None else "floor", "label": self.model, "seed": self.seed,
            "task": self.task, "encoder": self.encoder, "about": [self.rows, self.data, sorted(self.splits())],
            "model": {"objective": None, "tokenizer": {"kind": "words"}}, "finetune": {"precision": "32"},
            "wrong": {split: list(wrong) for split, wrong in self.wrong.items()},
        }  # fmt: skip
        return Run(
            id=hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest(), kind=spec["kind"],
            model=self.model, encoder=self.encoder, spec=spec, task=self.task, seed=self.seed,
            data_fingerprint=self.data, metric=self.metric, split=next(iter(self.splits())),
        )  # fmt: skip

    def splits(self) -> dict[str, np.ndarray]:
        """Outputs by split; the first one is reported."""
        if self.outputs:
            return dict(self.outputs)
        missed = {split: np.isin(np.arange(N), wrong) for split, wrong in self.wrong.items()}
        return {split: np.where(rows, 1 - TARGETS, TARGETS) for split, rows in missed.items()}

    def result(self) -> Result:
        """Its scores, and its predictions if they are kept."""
        metrics, stored = [MetricRow("best_step", 1), MetricRow("last_step", 1)], []
        for split, outputs in self.splits().items():
            score = evaluate([self.metric], self.targets, outputs)[self.metric]
            metrics.append(MetricRow(self.metric, score.value, split=split, step=1))
            stored.append(Predictions(split, "best", outputs, self.targets, f"{self.rows}-{split}"))
        return Result(metrics, predictions=stored if self.kept else [])


def build(path: Path, experiments: Mapping[str, Sequence[Trained]]) -> Store:
    """The database of these experiments; the last one was swept last."""
    store = open_store(path)
    for name, runs in experiments.items():
        by_id = {run.row().id: run for run in runs}
        assert len(by_id) == len(runs)
        number = add_experiment(store, name, {"name": name}, [run.row() for run in runs], baseline=runs[0].model)
        while held := claim(store, number, worker="w", lease_s=60, max_attempts=1, environment=Environment("h")):
            finish(store, held, by_id[held.run_id].result())
    return store
