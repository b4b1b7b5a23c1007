"""Writing down what is to be done: an experiment and its runs, of which many may exist already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.store.engine import Store, insert_rows
from hashbench.store.queue import as_json, members
from hashbench.store.schema import dependency, experiment, experiment_run, run

CHUNK = 500  # rows an IN clause; SQLite's oldest limit is 999 parameters


@dataclass(frozen=True)
class RunRow:
    """A planned run. `id` is the sha256 of its canonical spec, `model` its label in this experiment.

    `metric` and `split` say what the experiment's own table reads for it; None where it has no score.
    """

    id: str
    kind: str
    model: str
    encoder: str
    spec: Mapping[str, Any]
    task: str | None = None
    seed: int | None = None
    needs: tuple[str, ...] = ()
    data_fingerprint: str | None = None
    metric: str | None = None
    split: str | None = None


def add_experiment(
    store: Store,
    name: str,
    config: Mapping[str, Any],
    runs: Sequence[RunRow],
    *,
    baseline: str,
    command: str = "",
) -> int:
    """The id of the experiment with this name and these runs; runs are claimed in the order given.

    Any number of times: the same name and runs are the same experiment; its `called_at` moves, and keys of `config`
    that a later call leaves out stay. Runs that the database knows keep their state and results, whoever planned them;
    void ones are planned again.
    """
    with store.write() as connection:
        experiment_id, known = _find_or_add(store, connection, name, runs)
        values = {"baseline": baseline, "config": as_json(known | dict(config)), "command": command}
        called = sa.update(experiment).where(experiment.c.id == experiment_id)
        connection.execute(called.values(**values, called_at=store.now))
        add_runs(store, connection, runs)
        add_members(store, connection, experiment_id, runs)
        again = sa.update(run).where(run.c.state == "void", run.c.id.in_(members(experiment_id)))
        connection.execute(again.values(state="planned", finished_attempt=None, finished_at=None))
    return experiment_id


def retry_failed(store: Store, experiment_id: int) -> int:
    """Give all failed runs of an experiment their tries back; how many there were."""
    failed = sa.update(run).where(run.c.id.in_(members(experiment_id)), run.c.state == "failed")
    with store.write() as connection:
        return connection.execute(failed.values(state="planned", tries=0)).rowcount


def known_ids(connection: Connection, ids: Sequence[str], *conditions: sa.ColumnElement[bool]) -> set[str]:
    """Those of the run ids that the database holds (under the conditions)."""
    known: set[str] = set()
    for start in range(0, len(ids), CHUNK):
        some = sa.select(run.c.id).where(run.c.id.in_(ids[start : start + CHUNK]), *conditions)
        known.update(connection.execute(some).scalars())
    return known


def _find_or_add(
    store: Store, connection: Connection, name: str, runs: Sequence[RunRow]
) -> tuple[int, dict[str, Any]]:
    """Id and config of the experiment with this name and these runs, a new one where there is none."""
    fingerprint = hashlib.sha256(as_json([[row.model, row.id] for row in runs]).encode()).hexdigest()
    now = connection.execute(sa.select(store.now)).scalar_one()
    new = {"name": name, "fingerprint": fingerprint, "baseline": "", "config": "{}", "command": ""}
    connection.execute(store.insert_new(experiment), {**new, "created_at": now, "called_at": now})
    columns = sa.select(experiment.c.id, experiment.c.config)
    row = connection.execute(columns.where(experiment.c.name == name, experiment.c.fingerprint == fingerprint)).one()
    return row.id, json.loads(row.config)


def add_runs(store: Store, connection: Connection, runs: Sequence[RunRow]) -> None:
    """Insert the runs that the database does not know, with their needs."""
    known = known_ids(connection, [row.id for row in runs])
    now = connection.execute(sa.select(store.now)).scalar_one()
    # of two labels the first one stays
    new = {row.id: row for row in reversed(runs) if row.id not in known}
    columns = ("id", "kind", "model", "task", "seed", "encoder", "data_fingerprint")
    rows = [
        {name: getattr(row, name) for name in columns} | {"spec": as_json(row.spec), "created_at": now}
        for row in new.values()
    ]
    needs = [{"run_id": row.id, "needs_run_id": need} for row in new.values() for need in sorted(set(row.needs))]
    insert_rows(connection, store.insert_new(run), rows)
    insert_rows(connection, store.insert_new(dependency), needs)


def add_members(
    store: Store, connection: Connection, experiment_id: int, runs: Sequence[RunRow], *, first: int = 0
) -> None:
    """Make runs members of an experiment under their labels; `first`: position of the first of them."""
    columns = ("model", "metric", "split")
    rows = [
        {name: getattr(row, name) for name in columns}
        | {"experiment_id": experiment_id, "run_id": row.id, "position": position}
        for position, row in enumerate(runs, first)
    ]
    insert_rows(connection, store.insert_new(experiment_run), rows)
