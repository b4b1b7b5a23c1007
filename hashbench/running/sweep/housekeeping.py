"""Housekeeping of a sweep.

Results kept on disk until the database answers, runs of dead processes freed, files that runs read looked for,
temporary ones removed.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from hashbench.common.cache import RUN_ID
from hashbench.common.checksums import Damaged, FileSum, is_listed, remove, sealed_write, set_aside
from hashbench.common.errors import first_line
from hashbench.common.measured import MetricRow
from hashbench.common.showing import tell
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.artifacts import ArtifactFolder, sum_of
from hashbench.running.runs.base import Workplace, kind_of
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.executors import find_executor
from hashbench.running.sweep.plan import Plan
from hashbench.running.sweep.processes import is_dead
from hashbench.store.engine import Store
from hashbench.store.planning import Run
from hashbench.store.queue import ClaimedRun, LeaseLost, abandon
from hashbench.store.result import Artifact, Predictions, Result, files_of_all_attempts, finish, knows
from hashbench.store.status import running

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

    `counts_as_try`: the attempt of `gone` counts as a try. Attempts of others never do: they may be workers of another
    sweep, and why they ended is not known here. `reason`: why `gone` is gone.
    """
    for held in running(store, experiment_id):
        if held.worker == gone or is_dead(held.worker):
            is_this = held.worker == gone
            abandon(store, held.attempt_id, reason if is_this else GONE, counts=counts_as_try and is_this)


def saved_copy(store: Store) -> str:
    """Saves what open connections still read of a deleted or replaced database file; returns a phrase on it."""
    try:
        copy = store.save_copy()
    except sqlite3.Error as error:
        return f"what it held could not be saved: {error}"
    return f"what it held is saved: --db {copy}"


def remove_temporary_files(assignment: Assignment, needed: Collection[str]) -> None:
    """Removes the temporary files of a finished sweep's runs, except of runs that another sweep still needs."""
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


def needs_read_by(run: Run, place: Workplace) -> list[Run]:
    """The runs whose files a run reads."""
    return [place.runs[need_id] for need_id in run.needs] if kind_of(run).reads_needs else []


def gone_files(runs: Sequence[Run], done: Collection[str], artifacts: ArtifactFolder) -> list[Run]:
    """The finished runs whose files are not on this machine although runs still to be done read them.

    They are made again first, with what they read themselves.
    """
    by_id = {run.id: run for run in runs}
    looked_at: dict[str, Run] = {}
    reading = [run for run in by_id.values() if run.id not in done]
    while reading:
        reader = reading.pop()
        for need_id in reader.needs if kind_of(reader).reads_needs else ():
            need = by_id[need_id]
            if need_id in done and need_id not in looked_at and not _is_here(need, artifacts):
                looked_at[need_id] = need
                reading.append(need)
    return [run for run in by_id.values() if run.id in looked_at]


def _is_here(need: Run, artifacts: ArtifactFolder) -> bool:
    sets = kind_of(need).left_files(need, artifacts)
    return not sets or any(all(path.is_file() for path in files.values()) for files in sets)


def is_at_hand(need: Run, store: Store, place: Workplace) -> bool:
    """True when the files that a finished run left are here, if need be fetched from the shared folder."""
    sets = kind_of(need).left_files(need, place.artifacts)
    if not sets:
        return True
    sums: dict[str, list[FileSum]] = defaultdict(list)  # by the place below the root
    for file in files_of_all_attempts(store, need.id):
        sums[file.url].append(sum_of(file))
    root = place.artifacts.root

    def has(path: Path) -> bool:
        kept = path.is_relative_to(root)  # else the store does not know it
        return place.artifacts.has(path, sums[path.relative_to(root).as_posix()] if kept else [])

    return any(all(map(has, files.values())) for files in sets)


def prepared_corpora(planned: Plan, note: Callable[[str], None]) -> Iterator[Corpus]:
    """Yields each corpus that a model of the plan reads, once, as soon as it is ready; `note` gets progress lines."""
    workers = find_executor(planned.resolved.experiment.executor).shard_workers()
    materials = Materials(planned.resolved.sources, cache_folder(), workers=workers, progress=note)
    seen: set[str] = set()
    for model in planned.resolved.models.values():
        if model.pretrain.streaming:
            note(f"{model.label} reads its corpora as a stream: nothing to prepare")
            continue
        note(f"preparing for {model.label} ...")
        corpus = materials.texts(model).corpus
        if corpus is not None and str(corpus.folder) not in seen:
            seen.add(str(corpus.folder))
            yield corpus
