"""A database of runs written down one by one, for what the made-up world of HashFormers does not have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish
from tests.databases.empty import new_store

STEP = 100  # of the one evaluation


@dataclass(frozen=True)
class HandRun:
    """A finished run: scores by (metric, split, condition) in their natural range, and facts by name."""

    model: str
    task: str | None = None
    seed: int | None = 0
    scores: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    kind: str = "finetune"
    spec: Mapping[str, Any] = field(default_factory=dict)  # of the model
    own: tuple[str, str] = ("accuracy", "test")
    encoder: str = "base"

    def row(self) -> Run:
        """The run as it is planned."""
        floor = self.kind == "floor"
        spec = {
            "kind": self.kind, "label": self.model, "seed": self.seed, "task": self.task, "pretrain": None,
            "corpus": None, "threads": 1, "device": {"name": "one CPU", "cores": 2},
            "model": {"tokenizer": {"kind": "words"}, "objective": None, **self.spec},
            "finetune": {"precision": "32", "learning_rate": 1e-4, "epochs": 1, "batch_size": 8, "max_length": 64},
        }  # fmt: skip
        if self.kind == "pretrain":
            spec["pretrain"] = {"steps": 1, "batch_size": 8, "sequence_length": 16, "precision": "32"}
            spec["corpus"] = {"corpora": [{"name": "texts", "fingerprint": "f" * 64}], "max_documents": None}
        return Run(
            id=hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest(), kind=self.kind,
            model=self.model, encoder=self.encoder, spec=spec, task=self.task, seed=None if floor else self.seed,
            data_fingerprint=f"data-{self.task}" if self.task else None,
            metric=self.own[0] if self.task else None, split=self.own[1] if self.task else None,
        )  # fmt: skip

    def result(self) -> Result:
        """What it measured."""
        metrics = [MetricRow(name, value) for name, value in self.facts.items()]
        if self.task:
            metrics += [MetricRow("best_step", STEP), MetricRow("last_step", STEP)]
        for (name, split, condition), value in self.scores.items():
            metrics.append(MetricRow(name, value, split=split, step=STEP, condition=condition))
        return Result(metrics, seconds=1.0)


def build(path: Path, runs: Sequence[HandRun], config: Mapping[str, Any] | None = None) -> Store:
    """The database of an experiment in which these runs are finished."""
    store = new_store(path)
    by_id = {run.row().id: run for run in runs}
    assert len(by_id) == len(runs)
    rows = [run.row() for run in runs]
    experiment = add_experiment(store, "by-hand", {"name": "by-hand", **(config or {})}, rows, baseline="bert-mlm")
    while held := claim(store, experiment, worker="w", lease_s=60, max_attempts=1, environment=Environment("h")):
        finish(store, held, by_id[held.run_id].result())
    return store
