"""A worker: claims one run after the other, carries it out under a lease, and stores its result."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hashbench.common.cache import named_cache, using
from hashbench.common.errors import InputError
from hashbench.common.process import (
    is_out_of_memory,
    keep_few_prepared,
    keep_freed_memory,
    keep_niceness,
    outlive_readers,
)
from hashbench.common.progress import give_signs_to, progress
from hashbench.common.registry import registered
from hashbench.common.showing import tell
from hashbench.results.dashboard.live import TrackedRun, Tracker, final_values, run_config, run_label, wandb_id
from hashbench.running.runs.base import carry_out, kind_of
from hashbench.running.runs.provenance import commits_note, environment, sources_of
from hashbench.running.sweep.assignment import Assignment, unpack
from hashbench.running.sweep.attempt import LEASE_S, Attempts, Control, Ending, StopSignal, claimed
from hashbench.running.sweep.executors import ExecutorSpec
from hashbench.running.sweep.housekeeping import is_at_hand, needs_read_by
from hashbench.running.sweep.local import END, LOG, SIGNS, STACKS, WRITE_STACKS
from hashbench.running.sweep.plan import refuse_other_runs
from hashbench.running.sweep.processes import BATCH_SIGNALS, own_name
from hashbench.running.sweep.progress import (
    Event,
    RunEnded,
    RunProgress,
    RunStarted,
    Watched,
    WorkerRefused,
    WorkerStarted,
    as_line,
)
from hashbench.running.sweep.ranks import run_on_devices
from hashbench.running.training.devices import release_memory
from hashbench.running.training.fit import quieten
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.store.engine import open_store, parse
from hashbench.store.planning import Run
from hashbench.store.queue import ClaimedRun, claim, pending
from hashbench.store.result import Result, claim_rerun
from hashbench.store.retry import Retry, StoreAway
from hashbench.store.sqlite import DatabaseLost

LOOK_AGAIN_S = 5.0  # for weights that another worker makes
FIRST_WAIT_S = 0.2  # of a worker that finds nothing to claim, before it looks again
LONGEST_WAIT_S = 5.0
LONGER = 1.5  # each wait is so much longer than the one before


def idle_waits() -> Iterator[float]:
    """Yields the growing seconds that a worker which finds nothing to claim waits before it looks again.

    >>> from itertools import islice
    >>> [round(wait, 2) for wait in islice(idle_waits(), 10)]
    [0.2, 0.3, 0.45, 0.68, 1.01, 1.52, 2.28, 3.42, 5.0, 5.0]
    """
    wait = FIRST_WAIT_S
    while True:
        yield wait
        wait = min(wait * LONGER, LONGEST_WAIT_S)


class Parent(Control):
    """The connection through standard input and output, whose other end is a `WorkerProcess` (local.py)."""

    def __init__(self, number: int, folder: Path) -> None:
        """`folder`: is shared with the other end, for signs of progress, stacks and logs."""
        self.number, self._folder = number, folder
        self._lock = threading.Lock()
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # what runs print is no event
        self._stop = self._gone = self._over = False

    def signalled(self, *_: object) -> None:
        """Signal handler that stops this worker alone, without waiting for a lock."""
        self._stop = True

    def is_set(self) -> bool:
        self._look()
        return self._stop

    def wait(self, seconds: float) -> None:
        if not self.is_set():
            select.select([0], [], [], seconds)

    def is_abandoned(self) -> bool:
        self._look()
        return self._gone

    def _look(self) -> None:
        """Takes in what the other end says: a line requests the stop, the end of the input says that it is gone."""
        with self._lock:
            while not self._gone and select.select([0], [], [], 0.0)[0]:
                heard = os.read(0, 100)
                self._gone, self._stop, self._over = not heard, True, self._over or END in heard

    def tell(self, event: Event | Watched) -> None:
        with self._lock, contextlib.suppress(ValueError, OSError):  # nobody reads any more
            self._out.write(as_line(event))
            self._out.flush()

    def heed(self) -> None:
        self._look()
        if self._over:
            os._exit(1)

    def note_log(self, text: str) -> None:
        with contextlib.suppress(OSError):
            (self._folder / LOG).write_text(text, "utf-8", errors="replace")


def work(file: str, number: str, folder: str) -> None:
    """The main function of a worker process: carries out runs of the assignment in a file until none is left.

    It ends before that on request. `number`: of the worker; `folder`: as in `Parent`.
    """
    outlive_readers()
    keep_niceness()
    for ignored in (signal.SIGINT, signal.SIGHUP):  # they mean the sweep, which says what the worker does then
        signal.signal(ignored, signal.SIG_IGN)
    control = Parent(int(number), Path(folder))
    # Slurm sends one of them to all processes of a job. Lightning calls this handler beside its own.
    for stopping in (signal.SIGTERM, *BATCH_SIGNALS):
        signal.signal(stopping, control.signalled)
    leave_signs_in(Path(folder))
    try:
        assignment = unpack(Path(file).read_bytes(), named_cache())
        spec: ExecutorSpec = registered("executor")[assignment.resolved.experiment.executor]
        if spec.elsewhere:
            assignment = replace(assignment, cache=named_cache() or assignment.cache)
            refuse_other_runs(assignment.resolved, assignment.runs, f"worker on {socket.gethostname()}")
        worker = Worker(assignment, control)
        control.tell(WorkerStarted(control.number, own_name()))
        worker.loop()
    except InputError as error:
        control.tell(WorkerRefused(control.number, str(error)))


def leave_signs_in(folder: Path) -> None:
    """Lets this process leave signs of progress, and its stacks on request, where whoever watches it finds them."""
    give_signs_to(folder / SIGNS)
    faulthandler.register(WRITE_STACKS, file=(folder / STACKS).open("a"), all_threads=True)


class Worker:
    """A worker of a sweep, on this machine or another: claims runs and carries them out one by one."""

    def __init__(self, assignment: Assignment, control: Control) -> None:
        self._assignment, self._control = assignment, control
        # Who started it says so too
        self._retry = Retry(parse(assignment.db)[1], tell=lambda line: None, stop=control)
        self._place = assignment.workplace()
        self._claimer: dict[str, Any] = {"worker": own_name(), "lease_s": LEASE_S, "environment": environment()}
        self._sources: dict[tuple[str, str | None, str], str] = {}  # by kind, task and label, which decide them

    def loop(self) -> None:
        """Works until nothing is left to claim, the sweep is stopped, or the database is gone for good."""
        quieten()
        keep_freed_memory()
        taken = [run for run in self._assignment.runs.values() if run.kind in self._assignment.kinds]
        if all(kind_of(run).has_long_steps(run) for run in taken):  # short steps would be slower
            keep_few_prepared()
        torch.set_num_threads(self._assignment.threads)
        try:
            self._store = self._retry(open_store, self._assignment.db, create=False)
            self._attempts = Attempts(
                self._store,
                self._retry,
                self._control,
                self._place.artifacts,
                max_attempts=self._assignment.max_attempts,
            )
            with using(self._assignment.cache):
                self._work()
        except (StoreAway, DatabaseLost):
            return  # who started it says so

    def _work(self) -> None:
        waits = idle_waits()
        experiment_id, kinds = self._assignment.experiment_id, self._assignment.kinds
        while not self._control.is_set() and not self._control.is_abandoned():
            held = self._claim()
            if held is not None:
                self._carry_out(held)
                waits = idle_waits()
            elif self._retry(pending, self._store, experiment_id, self._assignment.max_attempts, kinds=kinds):
                self._control.wait(next(waits))
            else:
                return

    def _claim(self) -> ClaimedRun | None:
        """The claim of the next run, or None where none is free."""
        options: Any = {"kinds": self._assignment.kinds, "max_attempts": self._assignment.max_attempts, **self._claimer}
        experiment_id = self._assignment.experiment_id
        return claimed(
            self._retry, self._store, lambda token: claim(self._store, experiment_id, token=token, **options)
        )

    def _carry_out(self, held: ClaimedRun) -> None:
        """Makes one attempt at a claimed run and sends the events of its start and its end."""
        run = self._assignment.runs[held.run_id]
        label = label_of(run)
        self._control.tell(RunStarted(self._control.number, run.id, label, kind_of(run).announced))
        began = time.monotonic()
        ending = self._attempt(run, held)
        note = ending.note if ending.result is None else kind_of(run).headline(ending.result)
        self._control.tell(RunEnded(self._control.number, run.id, label, ending.state, time.monotonic() - began, note))

    def _attempt(self, run: Run, held: ClaimedRun) -> Ending:
        """Carries out a run under its lease, shown by its tracker; returns how it ended."""
        tracker: Tracker | None = None

        def work(stop: StopSignal) -> Result:
            nonlocal tracker
            began = time.monotonic()
            not_its_own = self._supplied(run, stop)
            tracker = self._tracker(run)
            result = self._result(run, self._machine(run, stop, tracker))
            seconds = time.monotonic() - began - not_its_own if not_its_own else result.seconds
            notes = {**result.notes, "sources": self._sources_of(run), **commits_note(run, self._place)}
            return replace(result, notes=notes, seconds=seconds)

        final: dict[str, float | None] | None = None
        try:
            ending = self._attempts.carry_out(held, work)
            final = final_values(ending.result.metrics) if ending.result is not None else None
            return ending
        finally:
            if tracker is not None:
                tracker.finish(final)

    def _supplied(self, run: Run, stop: StopSignal) -> float:
        """Brings the files of the runs that a run needs to this machine: fetched, or made again by a further attempt.

        Returns the seconds that were spent on making or waiting, which do not count as the run's.
        """
        began, is_waiting = time.monotonic(), False
        for need in needs_read_by(run, self._place):
            while not self._retry(is_at_hand, need, self._store, self._place):
                is_waiting = True
                held = self._claim_again(need)
                if held is not None:
                    tell(f"{label_of(need)}: its weights are neither here nor shared by another machine; made again")
                    ending = self._attempt(need, held)
                    if ending.state == "failed":
                        raise InputError(
                            f"{label_of(need)}: its weights are gone, and cannot be made again: {ending.note}"
                        )
                elif not stop.is_set():
                    progress(f"waiting for {label_of(need)}", step=False)
                    self._control.wait(LOOK_AGAIN_S)  # another worker makes them
                self._attempts.watched()
                if stop.is_set():
                    raise Interrupted
        return time.monotonic() - began if is_waiting else 0.0

    def _claim_again(self, need: Run) -> ClaimedRun | None:
        """The claim of a finished run whose files are gone; None where another worker makes them."""
        return claimed(
            self._retry, self._store, lambda token: claim_rerun(self._store, need.id, token=token, **self._claimer)
        )

    def _sources_of(self, run: Run) -> str:
        key = (run.kind, run.task, run.model)
        if key not in self._sources:
            self._sources[key] = sources_of(run, self._place)
        return self._sources[key]

    def _result(self, run: Run, machine: Machine) -> Result:
        """The result of a run; a training that runs out of memory is tried once more, with half the rows at a time."""
        try:
            return self._on_devices(run, machine)
        except Exception as error:
            if not (is_out_of_memory(error) and kind_of(run).is_training):
                raise
            logging.getLogger(__name__).warning("%s: out of memory; again with half the rows at a time", error)
        release_memory()
        again = replace(machine, halved=True, earlier=[], notes={})
        return self._on_devices(run, again)

    def _on_devices(self, run: Run, machine: Machine) -> Result:
        """Carries out a run in this process, or on several devices; returns its result."""
        if machine.devices == 1:
            return carry_out(run, self._place, machine)
        if self._assignment.process is None:
            return run_on_devices(run, self._assignment, machine)
        from hashbench.running.sweep.ray_train import run_on_cluster

        return run_on_cluster(run, self._assignment, machine, self._assignment.process)

    def _machine(self, run: Run, stop: StopSignal, tracker: Tracker) -> Machine:
        experiment = self._assignment.resolved.experiment

        def watch(values: dict[str, float], step: int, total_steps: int, before: int) -> None:
            tracker.record(values, step, before)
            for name, value in values.items():
                self._control.tell(RunProgress(self._control.number, name, value, step, total_steps))

        return Machine(
            folder=self._place.artifacts.running(run.id),
            device=experiment.device,
            devices=experiment.all_devices if kind_of(run).several_devices else 1,
            nodes=experiment.nodes if kind_of(run).several_devices else 1,
            checkpoint_minutes=experiment.checkpoint_minutes,
            should_stop=stop,
            watch=watch,
            shared=self._place.artifacts.shared,
        )

    def _tracker(self, run: Run) -> Tracker:
        experiment = self._assignment.resolved.experiment
        tracked = TrackedRun(
            project=experiment.tracking.project,
            group=experiment.name,
            run_id=wandb_id(run.id),
            name=label_of(run),
            kind=run.kind,
            config=run_config(
                run.spec, model=run.model, task=run.task, encoder=run.encoder, experiment=experiment.name
            ),
            folder=self._assignment.cache,
        )
        return Tracker(experiment.tracking.wandb if kind_of(run).is_tracked else "off", tracked)


def label_of(run: Run) -> str:
    """The name of a run in lines of the progress."""
    return run_label(run.spec, run.model, run.task, run.seed)
