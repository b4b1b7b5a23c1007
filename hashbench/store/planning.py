"""Storing the plan of an experiment: its runs, many of which may exist already, and their order; adding runs later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.common.errors import InputError
from hashbench.common.showing import without_passwords
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import as_json
from hashbench.store.free_runs import refresh
from hashbench.store.kinds import KEY, Metrics, metrics_of
from hashbench.store.queue import members
from hashbench.store.schema import chunks, dependency, experiment, experiment_run, insert_rows, run, setting

ToWrite = TypeVar("ToWrite")
POSTGRES_INTEGER = 2**31 - 1  # SQLite's whole numbers have 64 bits
RUNS_AT_ONCE = 200  # runs a transaction: workers of other sweeps wait for a few milliseconds and not for the whole plan


@dataclass(frozen=True)
class Run:
    """The smallest unit of work with a result, as an experiment plans it."""

    id: str  # sha256 of the canonical spec
    kind: str  # stored name of its kind
    model: str  # its label in the experiment; of a trivial baseline the name
    encoder: str  # size
    spec: Mapping[str, Any]  # everything a worker needs but paths
    task: str | None = None
    seed: int | None = None
    needs: tuple[str, ...] = ()  # ids of the runs that must be done before
    data_fingerprint: str | None = None  # of the task's data
    # The score that the experiment's own table reads; None where there is none.
    metric: str | None = None
    split: str | None = None
    metrics: Metrics | None = None  # the meaning of its metrics; None: as its kind of the suite says


def add_experiment(
    store: Store,
    name: str,
    config: Mapping[str, Any],
    runs: Sequence[Run],
    *,
    baseline: str,
    command: str = "",
) -> int:
    """Stores an experiment and its runs, which are claimed in the order given; returns the experiment's id.

    Any number of times: the same name and runs are the same experiment; its `called_at` moves, and keys of `config`
    that a later call leaves out stay. Runs that the database knows keep their state and results, whoever planned them;
    void ones are planned again.

    Many short transactions. What an interrupted call leaves is completed by the next one: a run joins the experiment,
    and can be claimed, only after all runs and needs are there, and the experiment is the last that was called only
    when it is whole. Raises ValueError, and writes nothing, where a run needs one that nobody planned; InputError
    for a seed that the database cannot hold.
    """
    largest = max((row.seed or 0 for row in runs), default=0)
    if store.dialect == "postgresql" and largest > POSTGRES_INTEGER:
        raise InputError(f"seed {largest}: PostgreSQL holds seeds up to {POSTGRES_INTEGER}; choose a smaller one")
    values = {"baseline": baseline, "config": as_json(dict(config)), "command": without_passwords(command)}
    fingerprint = hashlib.sha256(as_json([[row.model, row.id] for row in runs]).encode()).hexdigest()
    trained = {(row.model, row.task) for row in runs if _metrics(row) == "training"}
    placed = [(position, _read_apart(row, trained)) for position, row in enumerate(runs)]
    this = sa.and_(experiment.c.name == name, experiment.c.fingerprint == fingerprint)
    with store.read() as connection:
        stored = _members(connection, this)
        missing = [(position, row) for position, row in placed if (row.id, row.model) not in stored]
        _check_needs(connection, [row for _, row in missing])
    rows = [row for _, row in missing]
    _in_parts(store, rows, partial(add_runs, store))
    _in_parts(store, rows, partial(add_needs, store))
    with store.write() as connection:
        new = values | {"name": name, "fingerprint": fingerprint, "created_at": store.now, "called_at": 0.0}
        connection.execute(store.insert_new(experiment).values(new))
        experiment_id = connection.execute(sa.select(experiment.c.id).where(this)).scalar_one()
        sums.write(connection, "experiment", [experiment_id])
    _in_parts(store, missing, lambda connection, part: add_members(store, connection, experiment_id, part))
    _plan_void_ones_again(store, experiment_id)
    with store.write() as connection:
        stored = json.loads(connection.execute(sa.select(experiment.c.config).where(this)).scalar_one())
        values["config"] = as_json(stored | dict(config))
        connection.execute(sa.update(experiment).where(this).values(**values, called_at=store.now))
        _store_metrics(store, connection, runs)
        sums.write(connection, "experiment", [experiment_id])
    return experiment_id


def _metrics(row: Run) -> Metrics:
    return row.metrics or metrics_of(row.kind, {})


def _read_apart(row: Run, trained: Collection[tuple[str, str | None]]) -> Run:
    """The run as a member of an experiment.

    The own table reads no score of a run that has none, or that evaluates a model on a task on which another run of
    the same label trains: the cell belongs to the training.
    """
    of = _metrics(row)
    of_others = of == "none" and metrics_of(row.kind, {}) != "none"  # tables exist for the suite's kinds
    apart = of_others or of == "evaluation" and (row.model, row.task) in trained
    return replace(row, metric=None, split=None) if apart else row


def _store_metrics(store: Store, connection: Connection, runs: Sequence[Run]) -> None:
    """Stores what the metrics of kinds are, of all that readers do not know by their names."""
    by_kind = {row.kind: _metrics(row) for row in runs}
    rows = [{"key": f"{KEY}{kind}", "value": of} for kind, of in by_kind.items() if of != metrics_of(kind, {})]
    keys = [f"{KEY}{kind}" for kind in by_kind]
    stored = {row.key: row.value for row in connection.execute(sa.select(setting).where(setting.c.key.in_(keys)))}
    if stored != {row["key"]: row["value"] for row in rows}:
        connection.execute(sa.delete(setting).where(setting.c.key.in_(keys)))
        insert_rows(connection, store.insert_new(setting), rows)


def _in_parts(store: Store, rows: Sequence[ToWrite], write: Callable[[Connection, Sequence[ToWrite]], None]) -> None:
    """Writes rows some at a time, each part in one transaction."""
    for part in chunks(rows, RUNS_AT_ONCE):
        with store.write() as connection:
            write(connection, part)


def planned_runs(store: Store, experiment_id: int) -> dict[tuple[str, str], str]:
    """The kind of each run of an experiment by its label and id."""
    columns = sa.select(experiment_run.c.model, run.c.id, run.c.kind).join_from(experiment_run, run)
    with store.read() as connection:
        rows = connection.execute(columns.where(experiment_run.c.experiment_id == experiment_id))
        return {(row.model, row.id): row.kind for row in rows}


def retry_failed(store: Store, experiment_id: int) -> int:
    """Plans all failed runs of an experiment again, with all their tries; returns how many there were."""
    failed = sa.update(run).where(run.c.id.in_(members(experiment_id)), run.c.state == "failed")
    with store.write() as connection:
        again = connection.execute(failed.values(state="planned", tries=0).returning(run.c.id)).scalars().all()
        refresh(connection, again)
    return len(again)


def known_ids(connection: Connection, ids: Sequence[str], *conditions: sa.ColumnElement[bool]) -> set[str]:
    """The ids among these that the database holds (under the conditions)."""
    stored: set[str] = set()
    for part in chunks(ids):
        stored.update(connection.execute(sa.select(run.c.id).where(run.c.id.in_(part), *conditions)).scalars())
    return stored


def _members(connection: Connection, this: sa.ColumnElement[bool]) -> set[tuple[str, str]]:
    """Run ids and labels of an experiment; none where it is new."""
    rows = sa.select(experiment_run.c.run_id, experiment_run.c.model).join_from(experiment_run, experiment).where(this)
    return {(row.run_id, row.model) for row in connection.execute(rows)}


def _check_needs(connection: Connection, runs: Sequence[Run]) -> None:
    planned = {row.id for row in runs}
    needed = {need: row.id for row in runs for need in row.needs if need not in planned}
    unknown = sorted(set(needed) - known_ids(connection, list(needed)))
    if unknown:
        raise ValueError(f"run {needed[unknown[0]][:12]} needs run {unknown[0][:12]}, which nobody planned")


def _plan_void_ones_again(store: Store, experiment_id: int) -> None:
    void = sa.select(run.c.id).where(run.c.id.in_(members(experiment_id)), run.c.state == "void")
    with store.read() as connection:
        ids = connection.execute(void).scalars().all()
    for part in chunks(ids, RUNS_AT_ONCE):
        again = sa.update(run).where(run.c.state == "void", run.c.id.in_(part))
        with store.write() as connection:
            connection.execute(again.values(state="planned", finished_attempt=None, finished_at=None))
            refresh(connection, part)


def add_runs(store: Store, connection: Connection, runs: Sequence[Run]) -> None:
    """Inserts the runs that the database does not have yet."""
    stored = known_ids(connection, [row.id for row in runs])
    now = connection.execute(sa.select(store.now)).scalar_one()
    # of two labels the first one stays
    new = {row.id: row for row in reversed(runs) if row.id not in stored}
    columns = ("id", "kind", "model", "task", "seed", "encoder", "data_fingerprint")
    rows = [
        {name: getattr(row, name) for name in columns} | {"spec": as_json(row.spec), "created_at": now}
        for row in new.values()
    ]
    insert_rows(connection, store.insert_new(run), rows)
    sums.write(connection, "run", list(new))


def add_needs(store: Store, connection: Connection, runs: Sequence[Run]) -> None:
    """Inserts which runs each run needs, all of them stored already. To be called before `add_members`."""
    needs = [{"run_id": row.id, "needs_run_id": need} for row in runs for need in sorted(set(row.needs))]
    insert_rows(connection, store.insert_new(dependency), needs)


def add_members(store: Store, connection: Connection, experiment_id: int, placed: Sequence[tuple[int, Run]]) -> None:
    """Makes runs members of an experiment under their labels, each at a position."""
    columns = ("model", "metric", "split")
    rows = [
        {name: getattr(row, name) for name in columns}
        | {"experiment_id": experiment_id, "run_id": row.id, "position": position, "turn": position}
        for position, row in placed
    ]
    insert_rows(connection, store.insert_new(experiment_run), rows)
    sums.write(connection, "member", [row.id for _, row in placed])
    refresh(connection, [row.id for _, row in placed])


COLLECTING = "collecting"  # in the place of a fingerprint: the set of runs grows

EXPERIMENT_MODELS = "SELECT experiment_id, model FROM experiment_run WHERE run_id = :run ORDER BY experiment_id, model"
EXPERIMENT_NAMES = """
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
    return [(row["experiment_id"], row["model"]) for row in store.query(EXPERIMENT_MODELS, run=run_id)]


def names_of_experiments(store: Store, run_id: str) -> list[str]:
    """Names of the experiments that have a run, the one swept last first."""
    return [row["name"] for row in store.query(EXPERIMENT_NAMES, run=run_id)]


def specs_under(store: Store, experiment_id: int, label: str) -> list[str]:
    """The specs, as JSON, of all runs that have this label in an experiment."""
    return [row["spec"] for row in store.query(SPECS, experiment=experiment_id, model=label)]


def data_under(store: Store, experiment_id: int, task: str) -> list[tuple[str, str]]:
    """Kind of run and fingerprint of the data of an experiment's runs on a task of this name, each pair once."""
    rows = store.query(SETS, experiment=experiment_id, task=task)
    return [(row["kind"], row["data_fingerprint"]) for row in rows]


def models_under(store: Store, experiment_id: int) -> list[str]:
    """The labels of an experiment's models and trivial baselines."""
    return [row["model"] for row in store.query(MODELS, experiment=experiment_id)]


def finished_on(store: Store, experiment_id: int, task: str, kind: str) -> list[str]:
    """Ids of an experiment's finished runs of a kind on a task, in its order."""
    rows = store.query(FINISHED, experiment=experiment_id, task=task, kind=kind)
    return list(dict.fromkeys(row["id"] for row in rows))
