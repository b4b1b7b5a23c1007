"""A worker: claims one run after the other, carries it out under a lease, and stores what it found."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException

from hashbench.allocator import keep_freed_memory
from hashbench.errors import InputError
from hashbench.runs.base import Run
from hashbench.runs.registry import kind_of
from hashbench.showing import tell
from hashbench.store.again import claim_again
from hashbench.store.engine import open_store, parse
from hashbench.store.finishing import finish
from hashbench.store.moved import DatabaseMoved
from hashbench.store.patience import Patience, StoreAway, is_outage
from hashbench.store.queue import (
    ClaimedRun,
    LeaseLost,
    claim,
    fail,
    held_under,
    new_token,
    pending,
    release,
)
from hashbench.store.result import Result
from hashbench.sweep.assignment import Assignment
from hashbench.sweep.events import RunEnded, RunProgress, RunStarted
from hashbench.sweep.executors.base import Control
from hashbench.sweep.heartbeat import LEASE_S, LOG_LIMIT, Heartbeat, StopSignal, captured_log
from hashbench.sweep.kept import KeptResults
from hashbench.sweep.processes import own_name
from hashbench.sweep.provenance import environment
from hashbench.sweep.sources import sources_of
from hashbench.sweep.supply import is_at_hand, needs_read_by
from hashbench.tracking import Tracker, final_values, run_config, run_label, wandb_id
from hashbench.training.checkpoints import Interrupted
from hashbench.training.curves import NotFinite
from hashbench.training.machine import Machine
from hashbench.training.memory import is_out_of_memory, release_memory
from hashbench.training.recipe import quieten

LOOK_AGAIN_S = 5.0  # for weights that another worker makes
FIRST_WAIT_S = 0.2  # of a worker that finds nothing to claim, before it looks again
LONGEST_WAIT_S = 5.0
LONGER = 1.5  # each wait is so much longer than the one before


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
        minutes = assignment.resolved.experiment.database_minutes
        self._patience = Patience(parse(assignment.db)[1], 60.0 * minutes, tell=control.say, stop=control)
        self._kept = KeptResults(assignment.artifact_folder())
        self._environment = environment()
        self._place = assignment.workplace()
        self._name = own_name()

    def loop(self) -> None:
        """Works until nothing is left to claim, the sweep is stopped, or the database is gone for good."""
        quieten()
        keep_freed_memory()
        torch.set_num_threads(self._assignment.threads)
        try:
            self._store = self._patience(open_store, self._assignment.db, create=False)
            self._work()
        except (StoreAway, DatabaseMoved) as error:
            self._control.say(str(error))

    def _work(self) -> None:
        waits = idle_waits()
        experiment_id, kinds = self._assignment.experiment_id, self._assignment.kinds
        while not self._control.is_set() and not self._control.is_abandoned():
            held = self._claim()
            if held is not None:
                self._carry_out(held)
                waits = idle_waits()
            elif self._patience(pending, self._store, experiment_id, self._assignment.max_attempts, kinds=kinds):
                self._control.wait(next(waits))
            else:
                return

    def _claim(self) -> ClaimedRun | None:
        """The next run, asked for until the database answers."""
        token, asked = new_token(), False

        def ask() -> ClaimedRun | None:
            nonlocal asked
            # an answer that got lost may have been yes
            before = held_under(self._store, token) if asked else None
            asked = True
            return before or claim(
                self._store,
                self._assignment.experiment_id,
                worker=self._name,
                lease_s=LEASE_S,
                max_attempts=self._assignment.max_attempts,
                environment=self._environment,
                kinds=self._assignment.kinds,
                token=token,
            )

        return self._patience(ask)

    def _carry_out(self, held: ClaimedRun) -> None:
        """One attempt, from its claim to the end of it."""
        run = self._assignment.runs[held.run_id]
        label = label_of(run)
        self._control.tell(RunStarted(self._index, run.id, label))
        began = time.monotonic()
        state, note = self._begun(run, held)
        self._control.tell(RunEnded(self._index, run.id, label, state, time.monotonic() - began, note))

    def _begun(self, run: Run, held: ClaimedRun) -> tuple[str, str]:
        """One attempt under its lease; gives back how it ended."""
        stop = StopSignal(self._control, self._assignment.resolved.experiment.run_hours)
        with Heartbeat(self._store, held, stop, self._control), captured_log() as log:
            return self._attempt(run, held, stop, log)

    def _supplied(self, run: Run, stop: StopSignal) -> float:
        """Sees to it that what the run's needs have left is here: fetched, or made again as a further attempt at them.

        Gives back the seconds that were spent on making or waiting, which are not the run's own.
        """
        began, is_waiting = time.monotonic(), False
        for need in needs_read_by(run, self._place):
            while not self._patience(is_at_hand, need, self._store, self._place):
                is_waiting = True
                held = self._patience(
                    claim_again, self._store, need.id, worker=self._name, lease_s=LEASE_S, environment=self._environment
                )
                if held is not None:
                    tell(f"{label_of(need)}: its weights are neither here nor shared by another machine; made again")
                    state, note = self._begun(need, held)
                    if state == "failed":
                        raise InputError(f"{label_of(need)}: its weights are gone, and cannot be made again: {note}")
                elif not stop.is_set():
                    self._control.wait(LOOK_AGAIN_S)  # another worker makes them
                stop.began_again()
                if stop.is_set():
                    raise Interrupted
        return time.monotonic() - began if is_waiting else 0.0

    def _attempt(self, run: Run, held: ClaimedRun, stop: StopSignal, log: Callable[[], str]) -> tuple[str, str]:
        """Carries the run out and writes its end to the store; gives back the state and a note for the screen."""
        tracker: Tracker | None = None
        final: dict[str, float | None] = {}
        began, folder = time.monotonic(), self._place.artifacts.running(run.id)
        try:
            not_its_own = self._supplied(run, stop)
            tracker = self._tracker(run)
            result = self._result(run, self._machine(run, stop, tracker))
            notes = {**result.notes, "sources": sources_of(run, self._place)}
            if not_its_own:
                result = replace(result, seconds=time.monotonic() - began - not_its_own)
            self._hand_in(held, replace(result, log=log(), notes=notes), began)
            # Not before: a checkpoint is worth keeping until then.
            self._place.artifacts.remove(folder)
        except (Interrupted, SIGTERMException, KeyboardInterrupt):
            if stop.is_time_up:
                hours = self._assignment.resolved.experiment.run_hours
                return self._failed(held, f"not done within run_hours: {hours:g}", log(), for_good=True)
            self._patience(release, self._store, held, log=log())
            return "interrupted", ""
        except LeaseLost:
            return "lost", "another worker took the run over"
        except (StoreAway, DatabaseMoved):
            raise
        except InputError as error:
            return self._failed(held, str(error), log())
        except NotFinite as error:
            # a checkpoint may hold what is lost already
            self._place.artifacts.remove(folder)
            return self._failed(held, str(error), log(), for_good=True)
        except Exception as error:  # whatever a run throws ends this attempt and not the worker
            reason = f"{type(error).__name__}: {error}"
            return self._failed(held, reason, f"{log()}\n{traceback.format_exc()}"[-LOG_LIMIT:])
        else:
            final = final_values(result.metrics)
            return "done", kind_of(run).headline(result)
        finally:
            if tracker is not None:
                tracker.finish(final)

    def _result(self, run: Run, machine: Machine) -> Result:
        """What the run found; where memory is too small for a training, with half the rows at a time, once."""
        try:
            return self._control.carry_out(run, self._assignment, self._place, machine)
        except Exception as error:
            if not (is_out_of_memory(error) and kind_of(run).is_training):
                raise
            logging.getLogger(__name__).warning("%s: out of memory; again with half the rows at a time", error)
        release_memory()
        again = replace(machine, halved=True, earlier=[], found={})
        return self._control.carry_out(run, self._assignment, self._place, again)

    def _failed(self, held: ClaimedRun, reason: str, log: str, *, for_good: bool = False) -> tuple[str, str]:
        """Writes a failure down; `for_good`: another try would end alike, so that this one counts as all."""
        tries = self._assignment.max_attempts if for_good else 1
        self._patience(fail, self._store, held, reason, log, tries=tries)
        return "failed", reason

    def _hand_in(self, held: ClaimedRun, result: Result, began: float) -> None:
        """Stores a result. While the database is away it lies on disk, for whoever meets the database again."""
        try:
            finish(self._store, held, result)
        except Exception as error:
            if not (is_outage(error) or isinstance(error, DatabaseMoved)):
                raise
            seconds = time.monotonic() - began if result.seconds is None else result.seconds
            late = replace(result, seconds=seconds)
            with contextlib.suppress(OSError):  # a disk that is full holds neither: this process remembers it
                self._kept.keep(held, late)
            self._patience(finish, self._store, held, late)
            self._kept.drop(held.token)

    def _machine(self, run: Run, stop: StopSignal, tracker: Tracker) -> Machine:
        experiment = self._assignment.resolved.experiment

        def watch(values: dict[str, float], step: int, total_steps: int) -> None:
            tracker.record(values, step)
            for name, value in values.items():
                self._control.tell(RunProgress(self._index, name, value, step, total_steps))

        return Machine(
            folder=self._place.artifacts.running(run.id),
            device=experiment.device,
            devices=experiment.all_devices if kind_of(run).several_devices else 1,
            nodes=experiment.nodes if kind_of(run).several_devices else 1,
            strategy=experiment.strategy,
            checkpoint_minutes=experiment.checkpoint_minutes,
            should_stop=stop,
            watch=watch,
            shared=self._place.artifacts.shared,
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


def label_of(run: Run) -> str:
    """A run as a line of the progress names it."""
    return run_label(run.spec, run.model, run.task, run.seed)
