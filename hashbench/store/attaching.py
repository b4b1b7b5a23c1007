"""Adding runs to experiments that were planned without them, and the queries needed before that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import as_json
from hashbench.store.free_runs import refresh
from hashbench.store.planning import Run, add_members, add_needs, add_runs
from hashbench.store.schema import experiment, experiment_run, run

COLLECTING = "collecting"  # in the place of a fingerprint: the set of runs grows

PLACES = "SELECT experiment_id, model FROM experiment_run WHERE run_id = :run ORDER BY experiment_id, model"
NAMES = """
SELECT e.name FROM experiment_run er JOIN experiment e ON e.id = er.experiment_id
WHERE er.run_id = :run GROUP BY e.name ORDER BY MAX(e.called_at) DESC
"""
SPECS = """
SELECT r.spec FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment AND er.model = :model
"""
SETS = """
SELECT DISTINCT r.kind, r.data_fingerprint FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment AND r.task = :task
"""
TASKS = """
SELECT DISTINCT r.task FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment AND r.task IS NOT NULL ORDER BY r.task
"""
MODELS = """
SELECT DISTINCT model FROM experiment_run WHERE experiment_id = :experiment ORDER BY model
"""
FINISHED = """
SELECT DISTINCT er.position, r.id FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment AND r.task = :task AND r.kind = :kind AND r.state = 'done' ORDER BY er.position
"""


def attach_run(store: Store, row: Run, places: Iterable[tuple[int, str]]) -> None:
    """Adds a run to experiments that were planned without it, behind their own runs; the call can be repeated.

    `places`: id of an experiment, and the run's label there. The experiment's fingerprint of its
    planned runs stays as it is. A void or failed run is planned again.
    """
    with store.write() as connection:
        add_runs(store, connection, [row])
        add_needs(store, connection, [row])
        for experiment_id, label in places:
            position = sa.func.coalesce(sa.func.max(experiment_run.c.position) + 1, 0)
            first = connection.execute(sa.select(position).where(experiment_run.c.experiment_id == experiment_id))
            add_members(store, connection, experiment_id, [(first.scalar_one(), replace(row, model=label))])
        again = sa.update(run).where(run.c.state.in_(("void", "failed")), run.c.id == row.id)
        connection.execute(again.values(state="planned", tries=0, finished_attempt=None, finished_at=None))
        refresh(connection, [row.id])


def collecting_experiment(store: Store, name: str, config: Mapping[str, Any], *, baseline: str) -> int:
    """The id of the experiment of this name to which runs are attached one by one, created if there is none."""
    with store.write() as connection:
        now = connection.execute(sa.select(store.now)).scalar_one()
        new = {"name": name, "fingerprint": COLLECTING, "baseline": baseline, "config": as_json(config), "command": ""}
        connection.execute(store.insert_new(experiment), {**new, "created_at": now, "called_at": now})
        this = sa.and_(experiment.c.name == name, experiment.c.fingerprint == COLLECTING)
        connection.execute(sa.update(experiment).where(this).values(called_at=now))
        number = connection.execute(sa.select(experiment.c.id).where(this)).scalar_one()
        sums.write(connection, "experiment", [number])
        return number


def places_of(store: Store, run_id: str) -> list[tuple[int, str]]:
    """The experiments that have a run, each with the run's label there."""
    return [(row["experiment_id"], row["model"]) for row in store.query(PLACES, run=run_id)]


def names_of_experiments(store: Store, run_id: str) -> list[str]:
    """Names of the experiments that have a run, the one swept last first."""
    return [row["name"] for row in store.query(NAMES, run=run_id)]


def specs_under(store: Store, experiment_id: int, label: str) -> list[str]:
    """The specs, as JSON, of all runs that have this label in an experiment."""
    return [row["spec"] for row in store.query(SPECS, experiment=experiment_id, model=label)]


def data_under(store: Store, experiment_id: int, task: str) -> list[tuple[str, str]]:
    """Kind of run and fingerprint of the data of an experiment's runs on a task of this name, each pair once."""
    rows = store.query(SETS, experiment=experiment_id, task=task)
    return [(row["kind"], row["data_fingerprint"]) for row in rows]


def tasks_under(store: Store, experiment_id: int) -> list[str]:
    """Names of the tasks and further sets of an experiment's runs."""
    return [row["task"] for row in store.query(TASKS, experiment=experiment_id)]


def models_under(store: Store, experiment_id: int) -> list[str]:
    """The labels of an experiment's models and trivial baselines."""
    return [row["model"] for row in store.query(MODELS, experiment=experiment_id)]


def finished_on(store: Store, experiment_id: int, task: str, kind: str) -> list[str]:
    """Ids of an experiment's finished runs of a kind on a task, in its order."""
    rows = store.query(FINISHED, experiment=experiment_id, task=task, kind=kind)
    return list(dict.fromkeys(row["id"] for row in rows))
