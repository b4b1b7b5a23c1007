"""An experiment in the store: its keys, its runs, the origins of its data, and the comparison with another plan."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.measured import STORED
from hashbench.common.showing import stored_command
from hashbench.data.sources.hub import PREFIX, with_commit
from hashbench.running.runs.base import names
from hashbench.running.runs.perturbed import pair_notes
from hashbench.running.sweep.plan import Plan, check_loaded
from hashbench.store.engine import Store
from hashbench.store.planning import add_experiment

Labelled = tuple[str, str]  # label and id of a run


def write_down(store: Store, planned: Plan, origins: Mapping[str, Any]) -> int:
    """Adds the experiment and its runs to the store, unless they are there; returns the experiment's id."""
    experiment = planned.resolved.experiment
    return add_experiment(
        store,
        experiment.name,
        stored_config(planned, origins),
        planned.runs,
        baseline=experiment.baseline,
        command=stored_command(sys.argv[1:]),
    )


def stored_config(planned: Plan, origins: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment as the store keeps it: its keys, how each model's values were chosen, origins of the data."""
    resolved = planned.resolved
    tuned = {label: declared for label in resolved.models if (declared := resolved.tuning_of(label))}
    config = resolved.experiment.stored() | {STORED: tuned}
    tasks = [{**of, "hub": with_commit(of["hub"])} if _is_on_hub(of) else of for of in config["tasks"]]
    config |= {"tasks": config["tasks"] if isinstance(config["tasks"], str) else tasks}
    pinned: dict[str, Any] = _pinned(config)
    return pinned | ({"provenance": origins} if origins else {})


def _is_on_hub(entry: Any) -> bool:
    return isinstance(entry, dict) and entry["hub"] is not None


def _pinned(value: Any) -> Any:
    """A stored value with commits behind corpora of the hub, so that whoever reads it again reads the same texts."""
    if isinstance(value, dict):
        return {name: _pinned(of) for name, of in value.items()}
    if isinstance(value, list):
        return [_pinned(of) for of in value]
    is_corpus = isinstance(value, str) and value.startswith(PREFIX)
    return f"{PREFIX}{with_commit(value.removeprefix(PREFIX))}" if is_corpus else value


def data_origins(planned: Plan) -> dict[str, Any]:
    """The origin of every data set, with fingerprint, notes and rows; each is read once, to find faults first."""
    tasks = {}
    for task in planned.resolved.tasks:
        data = task.load()
        check_loaded(planned, data)
        notes = [*data.notes, *pair_notes(planned.resolved, data)]
        for note in notes:
            print(f"{task.task.name}: {note}", file=sys.stderr)
        tasks[task.task.name] = {
            "origin": data.origin,
            "fingerprint": data.fingerprint,
            "notes": notes,
            "rows": {name: len(split) for name, split in data.splits.items()},
        }
    resolved = planned.resolved
    for corpus in resolved.corpora.values():
        for note in (*corpus.notes, *corpus.row_notes()):
            print(f"corpus {corpus.name}: {note}", file=sys.stderr)
    corpora = {corpus.name: {"origin": corpus.copy_read, "kind": corpus.kind} for corpus in resolved.corpora.values()}
    return {"sources": list(resolved.sources), "tasks": tasks, "corpora": corpora}


def of_phase(planned: Plan, measures_time: bool = False) -> set[Labelled]:
    """Label and id of the planned runs that measure time, or of all others."""
    kinds = names(measures_time=measures_time)
    return {(run.model, run.id) for run in planned.runs if run.kind in kinds}


def refuse_another_plan(planned: set[Labelled], stored: Mapping[Labelled, str], where: str) -> None:
    """Raises InputError unless the planned runs are the stored ones that measure no time; `stored`: runs -> kinds.

    Timings name the machine that they are made on, so they differ in the plans of different kinds of machines.
    """
    kinds = names(measures_time=False)
    wanted = {run for run, kind in stored.items() if kind in kinds}
    new, missing = planned - wanted, wanted - planned
    if new or missing:
        labels = sorted({label for label, _ in new | missing})
        raise InputError(
            f"{where} has another plan: {len(new)} runs of this one are not in it, {len(missing)} of its runs are not "
            f"in this one (models: {', '.join(labels[:3])}{' ...' if len(labels) > 3 else ''}); use the file, "
            "overrides, --data and release of hashbench that it was planned with, or plan anew: hashbench sweep"
        )
