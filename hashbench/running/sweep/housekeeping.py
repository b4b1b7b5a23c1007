"""Housekeeping of a sweep.

Results kept on disk until it answers, runs of dead processes freed, temporary
files removed."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from hashbench.common.cache import RUN_ID
from hashbench.common.checksums import Damaged, is_listed, remove, sealed_write, set_aside
from hashbench.common.errors import first_line
from hashbench.common.measured import MetricRow
from hashbench.common.showing import tell
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import kind_of
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.guard import HUNG, TOO_LONG
from hashbench.running.sweep.processes import is_dead
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, LeaseLost, abandon
from hashbench.store.result import Artifact, Predictions, Result, finish, knows
from hashbench.store.status import last_attempt, running

ABOUT = "about"  # the array of a file that holds everything but outputs and targets, as JSON
ARRAYS = ("outputs", "targets")


def look_after(store: Store, experiment_id: int, artifacts: ArtifactFolder) -> None:
    """Stores results that were kept on disk while the database was away, then frees the runs of dead processes."""
    for run_id in ResultSpool(artifacts).hand_in(store):
        tell(f"run {run_id[:12]}: its result was kept on disk and is stored now")
    release_dead(store, experiment_id)


GONE = "the worker process is gone"
STUCK = "it did not stop when the sweep was to end, so its process was ended"


def release_dead(
    store: Store, experiment_id: int, *, gone: str = "", counts_as_try: bool = False, reason: str = GONE
) -> None:
    """Frees the runs held by dead processes of this machine and by the worker named `gone`, before their leases end.

    `counts_as_try`: the attempt of `gone` counts as a try, those of others do not: why others ended, perhaps workers
    of another sweep, is not known here. `reason`: why `gone` is gone.
    """
    for held in running(store, experiment_id):
        if held.worker == gone or is_dead(held.worker):
            is_this = held.worker == gone
            abandon(store, held.attempt_id, reason if is_this else GONE, counts=counts_as_try and is_this)


def end_of(store: Store, worker: str) -> str:
    """Why the guard of a worker ended its last attempt; "" where it did not."""
    last = last_attempt(store, worker)
    by_guard = last is not None and last.state == "failed" and (last.reason or "").startswith((HUNG, TOO_LONG))
    return last.reason or "" if last is not None and by_guard else ""


def saved_copy(store: Store) -> str:
    """Saves what open connections still read of a deleted or replaced database file; returns a phrase on it."""
    try:
        copy = store.save_copy()
    except sqlite3.Error as error:
        return f"what it held could not be saved: {error}"
    return f"what it held is saved: --db {copy}"


def remove_temporary_files(assignment: Assignment, needed: Collection[str]) -> None:
    """Removes the temporary files of a finished sweep's runs, except of those that another sweep still needs."""
    artifacts = assignment.artifact_folder()
    for run in assignment.runs.values():
        for path in kind_of(run).temporary_files(run, artifacts) if run.id not in needed else ():
            artifacts.remove(path)


class ResultSpool:
    """Results that wait on disk for their databases to answer: one file each, in one cache folder."""

    def __init__(self, artifacts: ArtifactFolder) -> None:
        self._artifacts, self._folder = artifacts, artifacts.cache / "finished"

    def keep(self, held: ClaimedRun, result: Result) -> None:
        """Writes a result, whole or not at all. Raises OSError where the disk has no room."""
        arrays = {f"{name}-{n}": vars(scored)[name] for n, scored in enumerate(result.predictions) for name in ARRAYS}
        with sealed_write(self._path(held.token)) as part, part.open("wb") as file:
            # mypy mistakes the arrays for allow_pickle
            np.savez_compressed(file, **{ABOUT: np.array(_as_text(held, result))}, **arrays)  # type: ignore[arg-type]

    def drop(self, token: str) -> None:
        """Deletes the kept result of a claim, if there is one."""
        remove(self._path(token))

    def hand_in(self, store: Store) -> list[str]:
        """Stores the kept results of a database; returns ids of their runs. Late ones are dropped, with a line."""
        taken = []
        for path in sorted(self._folder.glob("*.npz")):
            read = _read(path)
            if read is None or not knows(store, read[0]):
                continue
            held, result = read
            try:
                finish(store, held, result)
            except LeaseLost:  # another attempt has taken over
                tell(f"run {held.run_id[:12]}: a result that waited on disk is not stored: another attempt took over")
            else:
                taken.append(held.run_id)
                self._artifacts.remove(self._artifacts.running(held.run_id))
            remove(path)  # whatever token it holds: it may be anybody's file
        return taken

    def _path(self, token: str) -> Path:
        return self._folder / f"{token}.npz"


def _as_text(held: ClaimedRun, result: Result) -> str:
    whole = {"held": asdict(replace(held, watch=None)), **vars(result)}  # whose clock may be another machine's
    whole["metrics"] = [asdict(row) for row in result.metrics]
    whole["artifacts"] = [asdict(file) for file in result.artifacts]
    whole["predictions"] = [
        {name: value for name, value in vars(scored).items() if name not in ARRAYS} for scored in result.predictions
    ]
    whole["notes"] = dict(result.notes)
    return json.dumps(whole)


def _read(path: Path) -> tuple[ClaimedRun, Result] | None:
    """The claim and the result in a file; None where another process has just deleted it, or it cannot be read.

    What cannot be read is set aside: damaged, of another version, or no file of this program at all.
    """
    try:
        is_listed(path)
        with np.load(path, allow_pickle=False) as arrays:
            about: dict[str, Any] = json.loads(str(arrays[ABOUT]))
            predictions = [
                Predictions(**fields, **{name: arrays[f"{name}-{n}"] for name in ARRAYS})
                for n, fields in enumerate(about["predictions"])
            ]
        held = about.pop("held")
        if not RUN_ID.fullmatch(held["run_id"]):
            raise ValueError("the id of its run is none")
        parts = {
            "metrics": [MetricRow(**row) for row in about["metrics"]],
            "artifacts": [Artifact(**file) for file in about["artifacts"]],
            "predictions": predictions,
        }
        return ClaimedRun(**held | {"needs": tuple(held["needs"]), "watch": None}), Result(**about | parts)
    except FileNotFoundError:
        return None
    except Damaged as damage:
        set_aside(path, damage, "its run is done again")
    except (OSError, EOFError, BadZipFile, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        set_aside(path, f"{path}: cannot be read ({first_line(error)})", "its run is done again")
    return None
