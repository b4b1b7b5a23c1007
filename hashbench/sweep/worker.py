"""A worker: claims one run after the other, carries it out under a lease, and stores what it found."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException
from sqlalchemy.exc import SQLAlchemyError

from hashbench.allocator import keep_freed_memory
from hashbench.errors import InputError
from hashbench.runs.base import Run
from hashbench.runs.registry import kind_of
from hashbench.store.engine import Store, open_store
from hashbench.store.finishing import finish
from hashbench.store.queue import ClaimedRun, LeaseLost, claim, fail, heartbeat, pending, release
from hashbench.sweep.assignment import Assignment
from hashbench.sweep.events import RunEnded, RunProgress, RunStarted
from hashbench.sweep.executors.base import Control
from hashbench.sweep.processes import own_name
from hashbench.sweep.provenance import environment
from hashbench.sweep.sources import sources_of
from hashbench.tracking import Tracker, final_values, run_config, run_label, wandb_id
from hashbench.training.checkpoints import Interrupted
from hashbench.training.machine import Machine
from hashbench.training.recipe import quieten

LEASE_S = 60.0  # a worker without a sign of life for so long has lost its run
FIRST_WAIT_S = 0.2  # of a worker that finds nothing to claim, before it looks again
LONGEST_WAIT_S = 5.0
LONGER = 1.5  # each wait is so much longer than the one before
LOG_LIMIT = 64_000  # characters of a run's log that are kept, from its end


class StopSignal:
    """Says that the run in hand must end: the worker was asked to stop, or the lease is lost."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._here = threading.Event()

    def set(self) -> None:
        """Ends the run in hand only."""
        self._here.set()

    def is_set(self) -> bool:
        """Whether to stop at the next step."""
        return self._here.is_set() or self._control.is_set()


class Heartbeat:
    """Prolongs a lease while the run lasts, on a thread of its own."""

    def __init__(self, store: Store, held: ClaimedRun, stop: StopSignal, control: Control) -> None:
        self._store, self._held, self._stop, self._control = store, held, stop, control
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._done.wait(1.0):
            if self._control.is_abandoned():
                # Nobody is left to report to; the lease runs out or the next sweep sees the dead process.
                os._exit(1)
            if time.monotonic() - last < LEASE_S / 4:
                continue
            last = time.monotonic()
            # A busy database is asked again at the next beat.
            with contextlib.suppress(OSError, SQLAlchemyError):
                if not heartbeat(self._store, self._held):
                    self._stop.set()
                    return


def idle_waits() -> Iterator[float]:
    """Seconds between the looks of a worker that finds nothing to claim: at most half of what it has waited so far.

    >>> from itertools import islice
    >>> [round(wait, 2) for wait in islice(idle_waits(), 10)]
    [0.2, 0.3, 0.45, 0.68, 1.01, 1.52, 2.28, 3.42, 5.0, 5.0]
    """
    wait = FIRST_WAIT_S
    while True:
        yield wait
        wait = min(wait * LONGER, LONGEST_WAIT_S)


class Worker:
    """One worker of a sweep, wherever it lives."""

    def __init__(self, assignment: Assignment, index: int, control: Control) -> None:
        self._assignment, self._index, self._control = assignment, index, control
        self._store = open_store(assignment.db, create=False)
        self._environment = environment()
        self._place = assignment.workplace()
        self._name = own_name()

    def loop(self) -> None:
        """Works until nothing is left to claim or the sweep is stopped."""
        quieten()
        keep_freed_memory()
        torch.set_num_threads(self._assignment.threads)
        waits = idle_waits()
        while not self._control.is_set() and not self._control.is_abandoned():
            held = claim(
                self._store,
                self._assignment.experiment_id,
                worker=self._name,
                lease_s=LEASE_S,
                max_attempts=self._assignment.max_attempts,
                environment=self._environment,
                kinds=self._assignment.kinds,
            )
            if held is not None:
                self._carry_out(held)
                waits = idle_waits()
            elif not pending(
                self._store,
                self._assignment.experiment_id,
                self._assignment.max_attempts,
                kinds=self._assignment.kinds,
            ):
                return
            else:
                self._control.wait(next(waits))

    def _carry_out(self, held: ClaimedRun) -> None:
        """One attempt, from its claim to the end of it."""
        run = self._assignment.runs[held.run_id]
        label = label_of(run)
        self._control.tell(RunStarted(self._index, run.id, label))
        stop = StopSignal(self._control)
        began = time.monotonic()
        with Heartbeat(self._store, held, stop, self._control), captured_log() as log:
            state, note = self._attempt(run, held, stop, log)
        self._control.tell(RunEnded(self._index, run.id, label, state, time.monotonic() - began, note))

    def _attempt(self, run: Run, held: ClaimedRun, stop: StopSignal, log: Callable[[], str]) -> tuple[str, str]:
        """Carries the run out and writes its end to the store; gives back the state and a note for the screen."""
        tracker = self._tracker(run)
        final: dict[str, float | None] = {}
        try:
            machine = self._machine(run, stop, tracker)
            result = self._control.carry_out(run, self._assignment, self._place, machine)
            # A lease that ran out while the machine slept lives on if nobody took the run.
            heartbeat(self._store, held)
            notes = {**result.notes, "sources": sources_of(run, self._place)}
            finish(self._store, held, replace(result, log=log(), notes=notes))
            # Not before: a checkpoint is worth keeping until then.
            shutil.rmtree(machine.folder, ignore_errors=True)
        except (Interrupted, SIGTERMException, KeyboardInterrupt):
            release(self._store, held, log=log())
            return "interrupted", ""
        except LeaseLost:
            return "lost", "another worker took the run over"
        except InputError as error:
            fail(self._store, held, str(error), log())
            return "failed", str(error)
        except Exception as error:  # whatever a run throws ends this attempt and not the worker
            reason = f"{type(error).__name__}: {error}"
            fail(self._store, held, reason, f"{log()}\n{traceback.format_exc()}"[-LOG_LIMIT:])
            return "failed", reason
        else:
            final = final_values(result.metrics)
            return "done", kind_of(run).headline(result)
        finally:
            tracker.finish(final)

    def _machine(self, run: Run, stop: StopSignal, tracker: Tracker) -> Machine:
        experiment = self._assignment.resolved.experiment

        def watch(values: dict[str, float], step: int, total_steps: int) -> None:
            tracker.record(values, step)
            for name, value in values.items():
                self._control.tell(RunProgress(self._index, name, value, step, total_steps))

        return Machine(
            folder=self._assignment.cache / "running" / run.id,
            device=experiment.device,
            devices=experiment.all_devices if kind_of(run).several_devices else 1,
            nodes=experiment.nodes if kind_of(run).several_devices else 1,
            checkpoint_minutes=experiment.checkpoint_minutes,
            should_stop=stop,
            watch=watch,
        )

    def _tracker(self, run: Run) -> Tracker:
        experiment = self._assignment.resolved.experiment
        return Tracker(
            experiment.tracking.wandb if kind_of(run).is_tracked else "off",
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


@contextlib.contextmanager
def captured_log() -> Iterator[Callable[[], str]]:
    """Keeps what a run logs and prints; the function given back returns its end."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield lambda: text.getvalue()[-LOG_LIMIT:]
    finally:
        root.removeHandler(handler)


def label_of(run: Run) -> str:
    """A run as a line of the progress names it."""
    return run_label(run.spec, run.model, run.task, run.seed)
