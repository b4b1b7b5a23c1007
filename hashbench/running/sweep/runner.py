"""`hashbench sweep` and its joining workers: carry out those runs of an experiment that are not done yet."""

from __future__ import annotations

import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch

from hashbench.common.cache import remove_leftovers, using
from hashbench.common.errors import InputError
from hashbench.common.shared import SharedFolder
from hashbench.common.showing import argument_shown, printable, tell
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.models.text.compiled import usable_cores
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.schema import Experiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import names
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.dry_run import print_plan
from hashbench.running.sweep.estimate import seconds_left
from hashbench.running.sweep.executors import Executor, find_executor
from hashbench.running.sweep.housekeeping import (
    STUCK,
    ResultSpool,
    look_after,
    release_dead,
    remove_temporary_files,
    saved_copy,
)
from hashbench.running.sweep.local import LocalExecutor
from hashbench.running.sweep.plan import Plan, plan
from hashbench.running.sweep.processes import Stopped, TimeIsUp, stop_signals
from hashbench.running.sweep.progress import (
    Hung,
    RunEnded,
    SweepProgress,
    WorkerEnded,
    WorkerRefused,
    WorkerStarted,
)
from hashbench.running.sweep.stored_plan import data_origins, of_phase, refuse_another_plan, write_down
from hashbench.store.engine import Store, address_of, check_place, open_store
from hashbench.store.planning import planned_runs, retry_failed
from hashbench.store.queue import end_for, pending
from hashbench.store.retry import Retry
from hashbench.store.sqlite import DatabaseMoved
from hashbench.store.status import done_ids, experiments, find_experiment, needed_by_others, runs, seconds_of
from hashbench.store.sums import changed_results

DONE, SOME_FAILED = 0, 1
SUBMITTED = -1  # no exit code: the runs are done by a batch system, and this process has no more to do
# Workers that die in a row, for each place, before the sweep gives up: something is wrong with the machine. One that
# ends may take all of its workers along.
MAX_CRASHES = 5
LOOK_EVERY_S = 5.0  # for results that were kept on disk, and for runs held by processes that are dead
STOP_GRACE_S = 60.0  # a step at base on a CPU, and the checkpoint behind it


@dataclass(frozen=True)
class Sweep:
    """A planned sweep: its store, its experiment's id and the assignment of its workers."""

    store: Store
    experiment_id: int
    assignment: Assignment
    workers: int
    times: bool = True  # whether this machine measures time, after all other runs

    @cached_property
    def retry(self) -> Retry:
        """A caller of store functions that retries while the database is away."""
        return Retry(self.store.name, tell=tell)


def sweep(
    loaded: Loaded,
    *,
    db: str,
    data: Sequence[str] | None = None,
    workers: int | None = None,
    dry_run: bool = False,
    fail_fast: bool = False,
    max_hours: float | None = None,
    artifacts: str = "",
) -> int:
    """Carries out the runs of an experiment that are not done yet; returns the exit code.

    0: all runs are done. 1: some failed. 129, 130 or 143: interrupted, and the same command goes on from there.
    SUBMITTED: a batch system has them. Raises InputError for anything wrong in the experiment or its data, before the
    first run. `max_hours`: after which all runs are checkpointed and the sweep ends. `artifacts`: a URL where machines
    share files.
    """
    until = math.inf if max_hours is None else time.monotonic() + 3600.0 * max_hours
    executor = find_executor(loaded.experiment.executor)
    check_place(db, create=True, read_only=dry_run)  # before minutes of planning
    if not dry_run:
        executor.check(address_of(db), stays=fail_fast or max_hours is not None)
    planned = plan(loaded, data=data, dry=dry_run)
    n_workers = workers or loaded.experiment.workers
    for remark in (*planned.notes, *planned.absent):
        print(remark, file=sys.stderr)
    if dry_run:
        print_plan(planned, db, n_workers, artifacts=artifacts)
        return DONE
    shared = shared_at(artifacts)
    store = open_store(db)
    retry = Retry(store.name, tell=tell)
    retry(ResultSpool(ArtifactFolder.at(cache_folder(), shared)).hand_in, store)
    ids = {run.id for run in planned.runs}  # two labels of one thing share a run
    finished = retry(done_ids, store, ids) == ids
    origins = {} if finished else data_origins(planned)
    experiment_id = retry(write_down, store, planned, origins)
    if finished:
        # by other experiments, so that this one is new and without the notes on its data
        if not retry(find_experiment, store, loaded.experiment.name).provenance:
            retry(write_down, store, planned, data_origins(planned))
        print(f"all {len(ids)} runs are done already", file=sys.stderr)
        return DONE
    retry(retry_failed, store, experiment_id)
    retry(release_dead, store, experiment_id)
    assignment = assign(planned, db=db, experiment_id=experiment_id, n_workers=n_workers, artifacts=shared)
    to_do = retry(pending, store, experiment_id, assignment.max_attempts, kinds=assignment.kinds)
    if to_do and (text := executor.submit(assignment, n_workers)):
        print(text, file=sys.stderr)
        return SUBMITTED
    work = Sweep(store, experiment_id, assignment, n_workers)
    over = partial(_over_at, until)
    return carry_out(work, fail_fast=fail_fast, over=over)


def _over_at(until: float) -> str:
    return "--max-hours: the time is up" if time.monotonic() >= until else ""


def join(loaded: Loaded, *, db: str, data: Sequence[str] | None = None, workers: int = 1, artifacts: str = "") -> int:
    """Carries out runs of a stored experiment until none is left; returns the exit code, as `sweep` does.

    An experiment that the database does not know is written down first, so that any number of equal workers may start
    without a sweep. Raises InputError where this machine plans other runs than the stored ones, since its file,
    data, own code or release differ.
    """
    planned = plan(loaded, data=data)
    shared = shared_at(artifacts)
    store = open_store(db)
    retry = Retry(store.name, tell=tell)
    stored = next((row for row in retry(experiments, store) if row.name == loaded.experiment.name), None)
    origins = data_origins(planned) if stored is None else stored.provenance
    experiment_id = retry(write_down, store, planned, origins) if stored is None else stored.id
    stored_kinds = retry(planned_runs, store, experiment_id)
    refuse_another_plan(of_phase(planned), stored_kinds, f"{loaded.shown}: '{loaded.experiment.name}' in {store.name}")
    assignment = assign(planned, db=db, experiment_id=experiment_id, n_workers=workers, artifacts=shared)
    times = of_phase(planned, measures_time=True) <= set(stored_kinds)
    kinds = names(measures_time=False)
    mine = {key: run for key, run in assignment.runs.items() if times or run.kind in kinds}
    if len(mine) < len(assignment.runs):
        print("its timings belong to another kind of machine and are left to it", file=sys.stderr)
    if retry(done_ids, store, set(mine)) == set(mine):
        print(f"all {len(mine)} runs are done already", file=sys.stderr)
        return DONE
    retry(release_dead, store, experiment_id)
    assignment = replace(assignment, runs=mine)
    return carry_out(Sweep(store, experiment_id, assignment, workers, times), fail_fast=False)


def take_part(assignment: Assignment, over: Callable[[], str]) -> int:
    """Carries out an assignment that was planned elsewhere by one worker here, as `join` does; returns the exit code.

    Runs that measure time are left out. `over` as in `carry_out`.
    """
    store = open_store(assignment.db, create=False)
    work = Sweep(store, assignment.experiment_id, assignment, 1, times=False)
    work.retry(release_dead, store, work.experiment_id)
    return carry_out(work, fail_fast=False, over=over)


def shared_at(url: str) -> str:
    """The URL of a shared folder in absolute form, "" for none. Raises InputError where it cannot be written to."""
    return SharedFolder.at(url, cache_folder()).url if url else ""


def assign(planned: Plan, *, db: str, experiment_id: int, n_workers: int, artifacts: str = "") -> Assignment:
    """The assignment for all workers in the first phase of a sweep, with the runs that measure no time."""
    experiment = planned.resolved.experiment
    return Assignment(
        db=address_of(db),  # workers on other machines have another environment
        experiment_id=experiment_id,
        resolved=planned.resolved,
        runs={run.id: run for run in planned.runs},
        cache=cache_folder(),
        threads=threads_for(experiment, n_workers),
        max_attempts=experiment.retries + 1,
        gpus=gpu_groups(experiment.devices) if experiment.device in ("auto", "gpu", "cuda") else (),
        kinds=names(measures_time=False),
        artifacts=artifacts,
    )


def time_left(work: Sweep) -> float | None:
    """Estimated seconds until the sweep is done; None where they are not known, or the database is away."""
    runs_of_all = work.assignment.runs
    taken = work.retry.once(seconds_of, work.store, list(runs_of_all))
    return None if taken is None else seconds_left(list(runs_of_all.values()), taken, work.workers)


def carry_out(work: Sweep, *, fail_fast: bool, over: Callable[[], str] = str) -> int:
    """Carries out a sweep: all runs but timings by all workers, then timings by one alone; returns the exit code.

    `over`: gives the reason to end, done or not; "" without one.
    """
    retry = work.retry
    # Evaluations on further sets are runs of the experiment too, and none of the sweep's
    before = retry(done_ids, work.store, work.assignment.runs)
    progress = SweepProgress(len(work.assignment.runs), len(before), partial(time_left, work))
    try:
        with stop_signals(), progress, using(work.assignment.cache):
            for measures_time, n_workers in ((False, work.workers), (True, 1))[: 2 if work.times else 1]:
                kinds = names(measures_time=measures_time)
                if not run_phase(work, kinds, n_workers, progress, fail_fast=fail_fast, over=over):
                    break
    except Stopped as stopped:
        tell(f"interrupted; to go on: hashbench {shlex.join(map(argument_shown, sys.argv[1:]))}")
        return stopped.exit_code
    except TimeIsUp as why:
        tell(str(why))
    except DatabaseMoved as error:
        raise InputError(f"{error}; {saved_copy(work.store)}") from error
    finally:
        work.store.settle()
    finished = retry(done_ids, work.store, work.assignment.runs) - before
    changed = retry(changed_results, work.store, finished)
    for run_id in changed:
        tell(f"{work.store.name}: the result of run {run_id[:12]} is not what was written; run: hashbench db check")
    code = conclude(work)
    return SOME_FAILED if changed else code


def run_phase(
    work: Sweep,
    kinds: tuple[str, ...],
    n_workers: int,
    progress: SweepProgress,
    *,
    fail_fast: bool,
    over: Callable[[], str] = str,
) -> bool:
    """Carries out all runs of these kinds by so many workers; False where failures ended it early.

    Raises TimeIsUp as soon as `over` says why, and InputError where a worker cannot take part.
    """
    experiment = work.assignment.resolved.experiment
    assignment = replace(work.assignment, kinds=kinds, threads=threads_for(experiment, n_workers))
    if not work.retry(pending, work.store, work.experiment_id, assignment.max_attempts, kinds=kinds):
        return True
    # Timings name the machine that planned them, so it measures them itself.
    place = LocalExecutor if kinds == names(measures_time=True) else find_executor(experiment.executor)
    crew = Crew(work, place(assignment, n_workers), progress, fail_fast=fail_fast)
    try:
        crew.start()
        while not crew.is_done:
            if why := over():
                raise TimeIsUp(why)
            crew.hear(wait_s=0.2)
        return not crew.gave_up
    finally:
        crew.stop()


class Crew:
    """The workers of one phase of a sweep: started, started again where they end badly, and stopped."""

    def __init__(self, work: Sweep, executor: Executor, progress: SweepProgress, *, fail_fast: bool) -> None:
        self._work, self._executor, self._progress, self._fail_fast = work, executor, progress, fail_fast
        self._n_workers = executor.n_workers
        self._at_work = set(range(self._n_workers))
        self._names: dict[int, str] = {}  # names under which started workers claim runs
        self._crashes, self._looked_at = 0, time.monotonic()
        self._nothing_left = self.gave_up = False

    @property
    def is_done(self) -> bool:
        """True when no run is left, or failures end the sweep.

        A worker that ends in order has found no run. Others may still be at one, or wait for a place to start.
        """
        return self.gave_up or (self._nothing_left and not self._at_work & self._names.keys())

    def start(self) -> None:
        """Starts all workers."""
        for worker in range(self._n_workers):
            self._executor.start(worker)

    def hear(self, wait_s: float) -> None:
        """Shows what workers report, and starts one again that ended badly; waits for the first report."""
        for event in self._executor.events(wait_s):
            if isinstance(event, WorkerStarted):
                self._names[event.worker] = event.name
            elif isinstance(event, WorkerRefused):
                raise InputError(event.reason)
            elif isinstance(event, WorkerEnded):
                self._ended(event)
            else:
                self._progress.show(event)
                if isinstance(event, RunEnded):
                    self._crashes = 0
                    self.gave_up |= self._fail_fast and event.state == "failed"
        if time.monotonic() - self._looked_at > LOOK_EVERY_S:
            self._look_after()

    def _ended(self, event: WorkerEnded) -> None:
        """Gives the run of a worker that ended badly to another, and starts it again."""
        name = self._names.pop(event.worker, "")
        if not event.how:
            self._at_work.discard(event.worker)
            self._nothing_left = True
            return
        self._progress.tell(f"{event.how}; {event.hung.reason if event.hung else 'its run is given to another'}")
        if event.hung is not None:
            self._store_end(event.hung)
        if name:
            gone = partial(release_dead, gone=name, counts_as_try=event.is_try)
            self._work.retry.once(gone, self._work.store, self._work.experiment_id)
        self._crashes += not event.hung  # a run that hangs uses up one of its few tries
        self.gave_up |= bool(event.hung) and self._fail_fast
        if self._crashes > MAX_CRASHES * self._n_workers:
            self._progress.tell(f"{self._crashes} workers ended one after the other without finishing a run; giving up")
            self.gave_up = True
        if self.gave_up:
            self._at_work.discard(event.worker)
        else:
            self._executor.start(event.worker)

    def _store_end(self, hung: Hung) -> None:
        """Stores the attempts of a worker that was ended since one hung, the innermost first, as failures."""
        for attempt, token, seconds in reversed(hung.attempts):
            end = partial(end_for, seconds=seconds)
            self._work.retry(end, self._work.store, attempt, token, hung.reason, hung.log)

    def _look_after(self) -> None:
        """Stores results that wait on disk, frees runs of dead processes, and ends a wait for a place to no purpose."""
        self._looked_at = time.monotonic()
        work, assignment = self._work, self._executor.assignment
        work.retry.once(look_after, work.store, work.experiment_id, assignment.artifact_folder())
        if not self._at_work & self._names.keys():
            to_do = partial(pending, kinds=assignment.kinds)
            self._nothing_left |= not work.retry(to_do, work.store, work.experiment_id, assignment.max_attempts)

    def stop(self) -> None:
        """Requests all workers to stop; ends those still at work after STOP_GRACE_S, and frees their runs."""
        self._executor.stop()
        deadline = time.monotonic() + STOP_GRACE_S
        try:
            while self._at_work & self._names.keys() and time.monotonic() < deadline:
                self._at_work -= {e.worker for e in self._executor.events(0.2) if isinstance(e, WorkerEnded)}
        finally:
            self._executor.kill()
        for worker in self._at_work & self._names.keys():
            stuck = partial(release_dead, gone=self._names[worker], reason=STUCK)
            self._work.retry.once(stuck, self._work.store, self._work.experiment_id)


def conclude(work: Sweep) -> int:
    """Prints the failed runs and how many are not done, removes temporary files, and returns the exit code."""
    failed = [run for run in work.retry(runs, work.store, work.experiment_id) if run.state == "failed"]
    for run in failed:
        where = f"hashbench log {run.run_id[:12]}"
        line = f"failed: {run.model} {run.task or run.kind}: {run.reason} ({where})"
        print(printable(" ".join(line.split())), file=sys.stderr)
    total = len(work.assignment.runs)
    done = work.retry(done_ids, work.store, work.assignment.runs)
    undone = total - len(done)
    if not undone and work.assignment.resolved.experiment.keep_weights == "none":
        remove_temporary_files(work.assignment, work.retry(needed_by_others, work.store))
    remove_leftovers(work.assignment.cache, sorted(done))
    if undone:
        print(f"{undone} of {total} runs are not done; the same command tries them again", file=sys.stderr)
    return SOME_FAILED if undone else DONE


def threads_for(experiment: Experiment, n_workers: int) -> int:
    """CPU threads of a run: the experiment's `threads`, else this process's cores divided by the workers."""
    return experiment.threads or max(1, usable_cores() // n_workers)


def gpu_groups(devices: int) -> tuple[str, ...]:
    """The GPUs that this process sees, in groups of `devices`, each as a value of CUDA_VISIBLE_DEVICES."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = named.split(",") if named else [str(number) for number in range(torch.cuda.device_count())]
    groups = [gpus[start : start + devices] for start in range(0, len(gpus) - devices + 1, devices)]
    return tuple(",".join(group) for group in groups)
