"""An experiment as its sweep writes it down: its keys, its runs, and where their data come from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hashbench.common.showing import without_passwords
from hashbench.results.tables.recipes import STORED
from hashbench.running.runs.base import Run
from hashbench.running.sweep.plan import Plan, check_items
from hashbench.store.engine import Store
from hashbench.store.planning import RunRow, add_experiment


def write_down(store: Store, planned: Plan, origins: Mapping[str, Any]) -> int:
    """Adds the experiment and its runs to the store, where they are not there; gives back its id."""
    experiment = planned.resolved.experiment
    return add_experiment(
        store,
        experiment.name,
        stored_config(planned, origins),
        [row_of(run) for run in planned.runs],
        baseline=experiment.baseline,
        command=without_passwords(" ".join(sys.argv[1:])),
    )


def stored_config(planned: Plan, origins: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment as the store keeps it: its keys, how values of each model were chosen, origins of the data."""
    resolved = planned.resolved
    tuned = {label: declared for label in resolved.models if (declared := resolved.tuning_of(label))}
    config = resolved.experiment.model_dump(mode="json") | {STORED: tuned}
    return config | ({"provenance": origins} if origins else {})


def row_of(run: Run) -> RunRow:
    """A planned run as the store takes it, with the score that the experiment's own table reads."""
    return RunRow(
        id=run.id,
        kind=run.kind,
        model=run.model,
        encoder=run.encoder,
        spec=run.spec,
        task=run.task,
        seed=run.seed,
        needs=run.needs,
        data_fingerprint=run.data_fingerprint,
        metric=run.metric,
        split=run.split,
    )


def data_origins(planned: Plan) -> dict[str, Any]:
    """Where every data set comes from and how much of it there is. Reads each once, so that a fault is found first."""
    tasks = {}
    for task in planned.resolved.tasks:
        data = task.load()
        check_items(planned, data)
        for note in data.notes:
            print(f"{task.task.name}: {note}", file=sys.stderr)
        tasks[task.task.name] = {
            "origin": data.origin,
            "fingerprint": data.fingerprint,
            "notes": list(data.notes),
            "rows": {name: len(split) for name, split in data.splits.items()},
        }
    resolved = planned.resolved
    corpora = {corpus.name: {"origin": corpus.copy_read, "kind": corpus.kind} for corpus in resolved.corpora.values()}
    return {"sources": list(resolved.sources), "tasks": tasks, "corpora": corpora}


def training_rows(origins: Mapping[str, Any]) -> dict[str, int]:
    """Rows to train on of each task."""
    return {name: task["rows"]["train"] for name, task in origins["tasks"].items()}
