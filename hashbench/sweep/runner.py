"""`hashbench sweep`: from a loaded experiment to finished runs, and again without doing anything twice."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch

from hashbench.data.fingerprints import cache_folder
from hashbench.efficiency.cards import find_card
from hashbench.experiment.load import Loaded
from hashbench.experiment.schema import Experiment
from hashbench.runs.artifacts import ArtifactFolder
from hashbench.runs.base import Run
from hashbench.runs.registry import kind_of, names
from hashbench.showing import printable, without_passwords
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import RunRow, add_experiment, retry_failed
from hashbench.store.queue import abandon, pending, running
from hashbench.store.status import done_ids, runs
from hashbench.sweep.assignment import Assignment
from hashbench.sweep.dry_run import print_plan
from hashbench.sweep.estimate import TimeEstimate
from hashbench.sweep.events import RunEnded
from hashbench.sweep.executors.local import LocalExecutor
from hashbench.sweep.executors.registry import find_executor
from hashbench.sweep.plan import Plan, check_items, plan
from hashbench.sweep.processes import is_dead
from hashbench.sweep.progress import SweepProgress
from hashbench.tables.tuning import STORED
from hashbench.text.compiled import usable_cores

DONE, SOME_FAILED, INTERRUPTED, TERMINATED = 0, 1, 130, 143
# Workers that die in a row before the sweep gives up: something is wrong with the machine.
MAX_CRASHES = 5
LOOK_EVERY_S = 5.0  # for runs held by processes that another sweep left dead
STOP_PATIENCE_S = 60.0  # a step at base on a CPU, and the checkpoint behind it


class Stopped(Exception):
    """The sweep was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = TERMINATED if number == signal.SIGTERM else INTERRUPTED


@dataclass(frozen=True)
class Sweep:
    """A planned sweep on its store."""

    store: Store
    experiment_id: int
    plan: Plan
    assignment: Assignment
    workers: int
    rows: Mapping[str, int]  # training rows of the tasks
    times: bool = True  # whether this machine measures time, after all other runs


def sweep(
    loaded: Loaded,
    *,
    db: str,
    data: Sequence[str] | None = None,
    workers: int | None = None,
    dry_run: bool = False,
    card: str | None = None,
    fail_fast: bool = False,
) -> int:
    """Carries out what the experiment asks for and is not yet done; gives back the exit code.

    0: all runs are done. 1: some failed. 130 or 143: interrupted, and the same command goes on from there. Raises
    InputError for anything wrong in the experiment or its data, before the first run. `card`: what a dry run estimates
    for, in place of this machine.
    """
    other = None if card is None else find_card(card)
    find_executor(loaded.experiment.executor)
    planned = plan(loaded, data=data)
    n_workers = workers or loaded.experiment.workers
    if dry_run:
        print_plan(planned, db, n_workers, other)
        return DONE
    store = open_store(db)
    ids = {run.id for run in planned.runs}  # two labels of one thing share a run
    finished = done_ids(store, ids) == ids
    origins = {} if finished else data_origins(planned)
    experiment_id = write_down(store, planned, origins)
    if finished:
        print(f"all {len(ids)} runs are done already", file=sys.stderr)
        return DONE
    retry_failed(store, experiment_id)
    release_dead(store, experiment_id)
    assignment = assign(planned, db=db, experiment_id=experiment_id, n_workers=n_workers)
    work = Sweep(store, experiment_id, planned, assignment, n_workers, training_rows(origins))
    return carry_out(work, fail_fast=fail_fast)


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


def assign(planned: Plan, *, db: str, experiment_id: int, n_workers: int) -> Assignment:
    """What every worker of the first phase of a sweep is told."""
    experiment = planned.resolved.experiment
    return Assignment(
        db=db,
        experiment_id=experiment_id,
        resolved=planned.resolved,
        runs={run.id: run for run in planned.runs},
        cache=cache_folder(),
        threads=threads_for(experiment, n_workers),
        max_attempts=experiment.retries + 1,
        gpus=gpu_groups(experiment.devices) if experiment.device in ("auto", "cuda") else (),
        kinds=names(measures_time=False),
    )


def training_rows(origins: Mapping[str, Any]) -> dict[str, int]:
    """Rows to train on of each task."""
    return {name: task["rows"]["train"] for name, task in origins["tasks"].items()}


def carry_out(work: Sweep, *, fail_fast: bool) -> int:
    """Both phases of a sweep: all but the timings by all workers, then the timings by one on a quiet machine."""
    estimate = TimeEstimate(work.store, work.plan.runs, work.workers, work.rows)
    # Evaluations on further sets are runs of the experiment too, and none of the sweep's
    n_done = len(done_ids(work.store, work.assignment.runs))
    progress = SweepProgress(len(work.assignment.runs), n_done, estimate.left)
    try:
        with stop_signals(), progress:
            for measures_time, n_workers in ((False, work.workers), (True, 1))[: 2 if work.times else 1]:
                kinds = names(measures_time=measures_time)
                if not run_phase(work, kinds, n_workers, progress, fail_fast=fail_fast):
                    break
    except Stopped as stopped:
        print(f"interrupted; to go on: hashbench {without_passwords(shlex.join(sys.argv[1:]))}", file=sys.stderr)
        return stopped.exit_code
    return conclude(work)


def run_phase(
    work: Sweep, kinds: tuple[str, ...], n_workers: int, progress: SweepProgress, *, fail_fast: bool
) -> bool:
    """Starts workers and watches them until nothing is left; False where a failure ended it early."""
    experiment = work.plan.resolved.experiment
    assignment = replace(work.assignment, kinds=kinds, threads=threads_for(experiment, n_workers))
    if not pending(work.store, work.experiment_id, assignment.max_attempts, kinds=kinds):
        return True
    # Timings name the machine that planned them, so it measures them itself.
    place = LocalExecutor if kinds == names(measures_time=True) else find_executor(experiment.executor)
    executor = place(assignment, n_workers)
    crashes, looked_at = 0, time.monotonic()
    try:
        executor.start()
        while not executor.ended():
            if event := executor.event(wait_s=0.2):
                progress.show(event)
                crashes = 0 if isinstance(event, RunEnded) else crashes
                if fail_fast and isinstance(event, RunEnded) and event.state == "failed":
                    return False
            if time.monotonic() - looked_at > LOOK_EVERY_S:
                looked_at = time.monotonic()
                release_dead(work.store, work.experiment_id)
            for crash in executor.replace_crashed():
                progress.tell(f"{crash.how}; its run is given to another")
                release_dead(work.store, work.experiment_id, gone=crash.worker, counts_as_try=crash.is_try)
                crashes += 1
            if crashes > MAX_CRASHES:
                progress.tell(f"{crashes} workers ended one after the other without finishing a run; giving up")
                return False
        return True
    finally:
        executor.stop(STOP_PATIENCE_S)


def conclude(work: Sweep) -> int:
    """Names what failed, and says how the sweep ended."""
    failed = [run for run in runs(work.store, work.experiment_id) if run.state == "failed"]
    for run in failed:
        where = f"hashbench status --run {run.run_id[:12]}"
        line = f"failed: {run.model} {run.task or run.kind}: {run.reason} ({where})"
        print(printable(" ".join(line.split())), file=sys.stderr)
    total = len(work.assignment.runs)
    undone = total - len(done_ids(work.store, work.assignment.runs))
    if not undone and work.plan.resolved.experiment.keep_weights == "none":
        remove_temporary_files(work.assignment)
    if undone:
        print(f"{undone} of {total} runs are not done; the same command tries them again", file=sys.stderr)
    return SOME_FAILED if undone else DONE


def remove_temporary_files(assignment: Assignment) -> None:
    """Removes what the runs of a finished sweep left for each other."""
    artifacts = ArtifactFolder(assignment.cache)
    for run in assignment.runs.values():
        for path in kind_of(run).temporary_files(run, artifacts):
            path.unlink(missing_ok=True)


def release_dead(store: Store, experiment_id: int, *, gone: str = "", counts_as_try: bool = False) -> None:
    """Frees runs held by processes of this machine that are gone, and by the worker of the name `gone`, without waiting
    for their leases to end."""
    for held in running(store, experiment_id):
        if held.worker == gone or is_dead(held.worker):
            abandon(store, held.attempt_id, "the worker process is gone", counts=counts_as_try)


def threads_for(experiment: Experiment, n_workers: int) -> int:
    """CPU threads of a run: as configured, or this process's cores shared by the workers."""
    return experiment.threads or max(1, usable_cores() // n_workers)


def gpu_groups(devices: int) -> tuple[str, ...]:
    """The GPUs that this process sees in groups of as many as a run takes, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = named.split(",") if named else [str(number) for number in range(torch.cuda.device_count())]
    groups = [gpus[start : start + devices] for start in range(0, len(gpus) - devices + 1, devices)]
    return tuple(",".join(group) for group in groups)


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Turns SIGINT and SIGTERM into `Stopped`; a second one ends the program at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    corpora = {name: {"origin": corpus.copy_read, "kind": corpus.kind} for name, corpus in resolved.corpora.items()}
    return {"sources": list(resolved.sources), "tasks": tasks, "corpora": corpora}
