"""Predictions of other programs on a task of an experiment, stored as a run beside its runs, so that they are paired.

Sweeps plan none, and nothing but tables and `hashbench compare` reads them: `hashbench data import-predictions`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.results.read.runs import IMPORTED
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import RunKind, Workplace
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result


class ImportedPredictions(RunKind):
    """Kind of run: predictions that another program made."""

    name = IMPORTED
    metrics = "evaluation"
    order = 90
    gives_signs = True
    in_sweeps = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return []

    def of(self, label: str, trained: Mapping[str, Any], outputs: np.ndarray, *, metric: str, split: str) -> Run:
        """The run of outputs (n,) on a split; `trained`: the spec of a run on the same data."""
        digest = hashlib.sha256(f"{outputs.dtype}".encode() + np.ascontiguousarray(outputs).tobytes()).hexdigest()
        spec = {
            "kind": self.name, "label": label, "task": trained["task"], "data": trained["data"], "split": split,
            "outputs": digest,
        }  # fmt: skip
        name = trained["task"]["name"]
        return Run(
            run_id(spec), self.name, label, "", spec, task=name, data_fingerprint=trained["data"], metric=metric,
            split=split,
        )  # fmt: skip

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        raise InputError(f"run {run.id[:12]}: predictions of another program; import them again")


KIND = ImportedPredictions()
