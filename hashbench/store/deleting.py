"""Deleting experiments. Runs that another experiment has, or that a run that stays needs, stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.common.errors import InputError
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.schema import (
    artifact,
    attempt,
    chunks,
    content_sum,
    dependency,
    environment,
    experiment,
    experiment_run,
    run,
)
from hashbench.store.status import find_experiment


@dataclass(frozen=True)
class Deletion:
    """A deletion of an experiment: the versions and runs that go, with their sizes, and how many of its runs stay."""

    name: str
    experiments: tuple[int, ...]  # versions of the experiment's file
    runs: tuple[str, ...]
    n_staying: int
    n_attempts: int
    n_files: int
    n_bytes: int  # of these files


def planned_deletion(store: Store, name: str) -> Deletion:
    """The deletion of all versions of an experiment, not done yet.

    Raises InputError where there is no such experiment, and where a worker has one of its runs.
    """
    find_experiment(store, name, by_version=False)
    with store.read() as connection:
        return _deletion(store, connection, name)


def delete(store: Store, planned: Deletion) -> None:
    """Deletes what was planned, in one transaction. Raises InputError where it is no longer what would be deleted."""
    with store.write() as connection:
        if _deletion(store, connection, planned.name) != planned:
            raise InputError(f"{store.name}: {planned.name} has changed meanwhile, so nothing was deleted; try again")
        for part in chunks(planned.runs):
            _delete_attempts(connection, part)
        for part in chunks(planned.runs):
            connection.execute(sa.delete(dependency).where(dependency.c.run_id.in_(part)))
        for numbers in chunks(planned.experiments):
            _delete_members(connection, numbers)
        for part in chunks(planned.runs):
            _delete_sums(connection, "run", content_sum.c.of.in_(part))
            connection.execute(sa.delete(run).where(run.c.id.in_(part)))
        for numbers in chunks(planned.experiments):
            _delete_sums(connection, "experiment", content_sum.c.of.in_(list(map(str, numbers))))
            connection.execute(sa.delete(experiment).where(experiment.c.id.in_(numbers)))


def _deletion(store: Store, connection: Connection, name: str) -> Deletion:
    versions = sa.select(experiment.c.id).where(experiment.c.name == name)
    here = sa.select(experiment_run.c.run_id).where(experiment_run.c.experiment_id.in_(versions))
    elsewhere = sa.select(experiment_run.c.run_id).where(experiment_run.c.experiment_id.not_in(versions))
    held = sa.select(attempt.c.run_id, attempt.c.worker).where(attempt.c.run_id.in_(here))
    leased = connection.execute(held.where(attempt.c.state == "running", attempt.c.lease_until > store.now)).first()
    if leased is not None:
        what = f"worker {leased.worker} has its run {leased.run_id[:12]}"
        raise InputError(
            f"{store.name}: {name}: {what}; stop its sweep first (a dead worker's run is free in a minute)"
        )
    members = set(connection.execute(here).scalars())
    going = set(connection.execute(here.where(experiment_run.c.run_id.not_in(elsewhere))).scalars())
    needs = connection.execute(sa.select(dependency).where(dependency.c.needs_run_id.in_(here))).all()
    going -= _needed_by_others(going, [(row.run_id, row.needs_run_id) for row in needs])
    runs = tuple(sorted(going))
    n_attempts = n_files = n_bytes = 0
    for part in chunks(runs):
        # No worker takes one from here on, where this transaction writes
        connection.execute(sa.select(run.c.id).where(run.c.id.in_(part)).with_for_update())
        of_part = sa.select(attempt.c.id).where(attempt.c.run_id.in_(part))
        sizes = sa.select(artifact.c.bytes).where(artifact.c.attempt_id.in_(of_part))
        files = connection.execute(sizes).scalars().all()
        n_attempts += len(connection.execute(of_part).all())
        n_files, n_bytes = n_files + len(files), n_bytes + sum(files)
    numbers = tuple(connection.execute(versions.order_by(experiment.c.id)).scalars())
    return Deletion(name, numbers, runs, len(members) - len(runs), n_attempts, n_files, n_bytes)


def _needed_by_others(runs: set[str], needs: list[tuple[str, str]]) -> set[str]:
    """The runs among these that others need, directly or through each other. `needs`: (run, run that it needs)."""
    needs_of: dict[str, list[str]] = defaultdict(list)
    for run_id, need in needs:
        needs_of[run_id].append(need)
    needed: set[str] = set()
    waiting = [run_id for run_id in needs_of if run_id not in runs]
    while waiting:
        new = [need for need in needs_of.get(waiting.pop(), ()) if need in runs and need not in needed]
        needed.update(new)
        waiting += new
    return needed


def _delete_attempts(connection: Connection, run_ids: Sequence[str]) -> None:
    """Deletes all attempts at runs with their results, and environments that no other attempt has."""
    rows = connection.execute(sa.select(attempt.c.id, attempt.c.environment_id).where(attempt.c.run_id.in_(run_ids)))
    attempts = rows.all()
    for part in chunks([row.id for row in attempts]):
        for table in sums.RESULTS:
            connection.execute(sa.delete(table).where(table.c.attempt_id.in_(part)))
        _delete_sums(connection, "attempt", content_sum.c.of.in_(list(map(str, part))))
        connection.execute(sa.delete(attempt).where(attempt.c.id.in_(part)))
    used = sa.exists().where(attempt.c.environment_id == environment.c.id)
    for places in chunks(sorted({row.environment_id for row in attempts if row.environment_id is not None})):
        connection.execute(sa.delete(environment).where(environment.c.id.in_(places), ~used))


def _delete_members(connection: Connection, numbers: Sequence[int]) -> None:
    """Makes all runs leave experiments."""
    of = experiment_run.c.experiment_id.in_(numbers)
    rows = connection.execute(sa.select(experiment_run).where(of)).mappings()
    for part in chunks([sums.member_key(row) for row in rows]):
        _delete_sums(connection, "member", content_sum.c.of.in_(part))
    connection.execute(sa.delete(experiment_run).where(of))


def _delete_sums(connection: Connection, kind: str, which: sa.ColumnElement[bool]) -> None:
    connection.execute(sa.delete(content_sum).where(content_sum.c.kind == kind, which))
