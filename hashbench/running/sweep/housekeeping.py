"""What the process of a sweep does beside its workers: it outlasts a database that is away, frees the runs of dead
processes, hands in results that were kept, and removes what only the sweep needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from hashbench.common.showing import tell
from hashbench.running.experiment.schema import Experiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.registry import kind_of
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.processes import is_dead
from hashbench.running.sweep.result_spool import ResultSpool
from hashbench.store.engine import Store
from hashbench.store.queue import abandon
from hashbench.store.retry import Retry
from hashbench.store.status import running


def retry_of(store: Store, experiment: Experiment) -> Retry:
    """Calls of the store that are made again while its database is away, as long as the experiment says."""
    return retry_named(store.name, experiment)


def retry_named(name: str, experiment: Experiment) -> Retry:
    """The same of a database that is not open yet, by its name in messages."""
    return Retry(name, 60.0 * experiment.database_minutes, tell=tell)


def look_after(store: Store, experiment_id: int, artifacts: ArtifactFolder) -> None:
    """Hands in results that were ready while the database was away, then frees the runs of dead processes."""
    for run_id in ResultSpool(artifacts).hand_in(store):
        tell(f"run {run_id[:12]}: its result was kept on disk and is stored now")
    release_dead(store, experiment_id)


def release_dead(store: Store, experiment_id: int, *, gone: str = "", counts_as_try: bool = False) -> None:
    """Frees runs held by processes of this machine that are gone, and by the worker of the name `gone`, without waiting
    for their leases to end.

    `counts_as_try`: of `gone` alone. Why others ended, perhaps workers of another sweep, is not known here.
    """
    for held in running(store, experiment_id):
        if held.worker == gone or is_dead(held.worker):
            counts = counts_as_try and held.worker == gone
            abandon(store, held.attempt_id, "the worker process is gone", counts=counts)


def saved_copy(store: Store) -> str:
    """Saves what the connections of a deleted or replaced file still read; says where, or why it cannot be."""
    try:
        copy = store.save_copy()
    except sqlite3.Error as error:
        return f"what it held could not be saved: {error}"
    return f"what it held is saved: --db {copy}"


def remove_temporary_files(assignment: Assignment, needed: Collection[str]) -> None:
    """Removes what the runs of a finished sweep left for each other, but for runs that another sweep still needs."""
    artifacts = assignment.artifact_folder()
    for run in assignment.runs.values():
        for path in kind_of(run).temporary_files(run, artifacts) if run.id not in needed else ():
            artifacts.remove(path)
