"""Reading what the store knows about experiments, runs and attempts. Scores are read through the views."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from hashbench.errors import InputError, near_match
from hashbench.store.engine import Store
from hashbench.store.planning import known_ids
from hashbench.store.queue import members
from hashbench.store.result import Artifact, Checkpoint, Predictions, unpack
from hashbench.store.schema import STATES, artifact, attempt, environment, experiment, experiment_run, run
from hashbench.store.schema import predictions as predictions_table

SHORTEST_PREFIX = 4  # letters of a run id that a user must give


@dataclass(frozen=True)
class StoredExperiment:
    """A name with a set of runs, as its sweep planned it."""

    id: int
    name: str
    baseline: str
    config: dict[str, Any]
    command: str
    created_at: float
    called_at: float


@dataclass(frozen=True)
class RunStatus:
    """A run of an experiment: where it stands, why its last attempt ended if it failed, seconds of the finished one."""

    run_id: str
    kind: str
    model: str
    task: str | None
    seed: int | None
    encoder: str
    state: str
    attempts: int
    tries: int
    reason: str | None
    seconds: float | None
    worker: str | None
    started_at: float | None
    heartbeat_at: float | None


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run, with what is known of its place."""

    id: int
    state: str
    worker: str
    host: str
    started_at: float
    ended_at: float | None
    seconds: float | None
    reason: str | None
    log: str
    notes: dict[str, str]
    git_commit: str
    hardware_name: str
    packages: dict[str, str]


@dataclass(frozen=True)
class Duration:
    """Mean seconds of the n finished runs of a kind, model, encoder and task."""

    kind: str
    model: str
    encoder: str
    task: str | None
    n: int
    seconds: float


def experiments(store: Store) -> list[StoredExperiment]:
    """All experiments, the one that was swept last first."""
    columns = [experiment.c[name] for name in StoredExperiment.__dataclass_fields__]
    rows = sa.select(*columns).order_by(experiment.c.called_at.desc(), experiment.c.id.desc())
    with store.read() as connection:
        found = connection.execute(rows).mappings().all()
    return [StoredExperiment(**{**row, "config": json.loads(row["config"])}) for row in found]


def find_experiment(store: Store, name: str | None = None) -> StoredExperiment:
    """The experiment of a name, the one swept last if the name stood for several; None: the last sweep of all."""
    known = experiments(store)
    if not known:
        raise InputError(f"{store.name}: no experiment in it; run hashbench sweep first, or give another --db")
    for found in known:
        if name is None or found.name == name:
            return found
    names = sorted({found.name for found in known})
    near = near_match(name or "", names)
    raise InputError(f"{store.name}: no experiment {name!r}{near} (there is: {', '.join(names)})")


def counts(store: Store, experiment_id: int) -> dict[str, int]:
    """Runs of the experiment by state, every state named."""
    rows = sa.select(run.c.state, sa.func.count()).where(run.c.id.in_(members(experiment_id))).group_by(run.c.state)
    with store.read() as connection:
        found = {state: n for state, n in connection.execute(rows)}
    return dict.fromkeys(STATES, 0) | found


def done_ids(store: Store, run_ids: Iterable[str]) -> set[str]:
    """Those of the run ids that are finished, of whatever experiment."""
    with store.read() as connection:
        return known_ids(connection, list(run_ids), run.c.state == "done")


def runs(store: Store, experiment_id: int) -> list[RunStatus]:
    """Every run of the experiment, in the planned order."""
    newest = sa.select(sa.func.max(attempt.c.id)).where(attempt.c.run_id == run.c.id).correlate(run).scalar_subquery()
    number = sa.select(sa.func.count()).where(attempt.c.run_id == run.c.id).correlate(run).scalar_subquery()
    shown = sa.func.coalesce(run.c.finished_attempt, newest)  # a merge may bring newer attempts that do not count
    rows = (
        sa.select(
            run.c.id.label("run_id"), run.c.kind, experiment_run.c.model, run.c.task, run.c.seed, run.c.encoder,
            run.c.state, number.label("attempts"), run.c.tries, attempt.c.reason,
            sa.case((run.c.state == "done", attempt.c.seconds)).label("seconds"),
            attempt.c.worker, attempt.c.started_at, attempt.c.heartbeat_at,
        )
        .select_from(experiment_run.join(run).outerjoin(attempt, attempt.c.id == shown))
        .where(experiment_run.c.experiment_id == experiment_id)
        .order_by(experiment_run.c.position)
    )  # fmt: skip
    with store.read() as connection:
        return [RunStatus(**row) for row in connection.execute(rows).mappings()]


def find_run(store: Store, prefix: str) -> str:
    """The run id that begins with `prefix`. Raises InputError where none or several do."""
    if len(prefix) < SHORTEST_PREFIX:
        raise InputError(f"run {prefix!r}: give at least {SHORTEST_PREFIX} letters of its id (list: hashbench status)")
    rows = sa.select(run.c.id).where(sa.func.substr(run.c.id, 1, len(prefix)) == prefix).limit(2)
    with store.read() as connection:
        found = connection.execute(rows).scalars().all()
    if not found:
        raise InputError(f"{store.name}: no run {prefix!r} (list: hashbench status --db {store.name})")
    if len(found) > 1:
        raise InputError(f"{store.name}: several runs begin with {prefix!r}; give more letters")
    return found[0]


def attempts(store: Store, run_id: str) -> list[Attempt]:
    """All attempts at a run, the first one first."""
    place = [sa.func.coalesce(environment.c[name], "").label(name) for name in ("host", "git_commit", "hardware_name")]
    own = [attempt.c[name] for name in Attempt.__dataclass_fields__ if name in attempt.c]
    packages = sa.func.coalesce(environment.c.packages, "{}").label("packages")
    rows = (
        sa.select(*own, *place, packages)
        .join_from(attempt, environment, isouter=True)
        .where(attempt.c.run_id == run_id)
        .order_by(attempt.c.id)
    )
    with store.read() as connection:
        found = connection.execute(rows).mappings().all()
    json_columns = ("notes", "packages")
    return [Attempt(**{**row, **{name: json.loads(row[name]) for name in json_columns}}) for row in found]


def run_spec(store: Store, run_id: str) -> dict[str, Any]:
    """The canonical dict that the run's id is the hash of."""
    with store.read() as connection:
        return json.loads(connection.execute(sa.select(run.c.spec).where(run.c.id == run_id)).scalar_one())


def artifacts(store: Store, run_id: str) -> list[Artifact]:
    """The files of a finished run; none of any other."""
    columns = [artifact.c[name] for name in Artifact.__dataclass_fields__]
    rows = sa.select(*columns).join(run, run.c.finished_attempt == artifact.c.attempt_id)
    rows = rows.where(run.c.id == run_id, run.c.state == "done").order_by(artifact.c.kind)
    with store.read() as connection:
        return [Artifact(**row) for row in connection.execute(rows).mappings()]


def predictions(
    store: Store, run_id: str, split: str, checkpoint: Checkpoint, condition: str = ""
) -> Predictions | None:
    """Outputs and targets of a finished run, or None where they are not stored."""
    table = predictions_table
    rows = sa.select(table.c.outputs, table.c.targets, table.c.index_fingerprint)
    rows = rows.join(run, run.c.finished_attempt == table.c.attempt_id)
    rows = rows.where(run.c.id == run_id, run.c.state == "done", table.c.split == split)
    with store.read() as connection:
        of = (table.c.checkpoint == checkpoint, table.c.condition == condition)
        row = connection.execute(rows.where(*of)).first()
    if row is None:
        return None
    outputs, targets = unpack(row.outputs), unpack(row.targets)
    return Predictions(split, checkpoint, outputs, targets, row.index_fingerprint, condition)


def durations(store: Store) -> list[Duration]:
    """How long finished runs took, to estimate those that are planned."""
    mean, n = sa.func.avg(attempt.c.seconds).label("seconds"), sa.func.count().label("n")
    key = (run.c.kind, run.c.model, run.c.encoder, run.c.task)
    rows = sa.select(*key, n, mean).join(attempt, attempt.c.id == run.c.finished_attempt)
    rows = rows.where(run.c.state == "done", attempt.c.seconds.is_not(None)).group_by(*key).order_by(*key)
    with store.read() as connection:
        return [Duration(**row) for row in connection.execute(rows).mappings()]
