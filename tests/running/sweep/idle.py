"""Runs that do nothing, for tests of what is around a run: an assignment of them, and the result of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hashbench.common.measured import MetricRow
from hashbench.running.experiment.load import load_experiment
from hashbench.running.runs.finetuning import KIND
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.plan import plan
from hashbench.store.engine import open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.result import Result

MODEL = "{name: raw, like: hashformer-md-proj, objective: none}"
EXPERIMENT = f"name: nothing\ndata: builtin\nencoder: tiny\nmodels: [{MODEL}]\nbaseline: raw\ntasks: [cola]\n"


def nothing() -> Result:
    """The result of a run that does nothing."""
    return Result(metrics=[MetricRow("accuracy", 0.5, split="validation")])


def make_assignment(folder: Path, n_runs: int) -> Assignment:
    """That many runs to do."""
    (folder / "nothing.yaml").write_text(EXPERIMENT)
    planned = plan(load_experiment(folder / "nothing.yaml"))
    ids = [f"{i:064x}" for i in range(n_runs)]
    spec = {"kind": KIND.name}
    runs: Mapping[str, Run] = {each: Run(each, KIND.name, "raw", "tiny", spec, "cola", 0) for each in ids}
    store = open_store(folder / "r.db")
    rows = [Run(run.id, run.kind, run.model, run.encoder, run.spec, run.task, run.seed) for run in runs.values()]
    experiment_id = add_experiment(store, "nothing", {}, rows, baseline="raw")
    return Assignment(
        db=str(folder / "r.db"),
        experiment_id=experiment_id,
        resolved=planned.resolved,
        runs=runs,
        cache=folder / "cache",
        threads=1,
        max_attempts=1,
        gpus=(),
        kinds=(KIND.name,),
    )
