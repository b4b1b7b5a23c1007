"""Interfaces between a sweep and its workers: Executor starts and watches them, Control connects each to the sweep."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.common.showing import tell
from hashbench.running.runs.base import Workplace, carry_out
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.progress import Event
from hashbench.running.sweep.ranks import run_on_devices
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result


@dataclass(frozen=True)
class Crash:
    """The unexpected end of a worker."""

    how: str  # in words for the screen
    worker: str  # the name under which it claimed runs
    is_try: bool = True  # whether its run may be the reason; not where the machine is gone


class Executor(ABC):
    """Starts, watches and stops the workers of one assignment; each phase of a sweep has a new one.

    It carries nothing out twice by itself: which run is tried again is decided by the store alone.
    """

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        self.assignment, self.n_workers = assignment, n_workers

    @abstractmethod
    def start(self) -> None:
        """Starts the workers."""

    @abstractmethod
    def event(self, wait_s: float) -> Event | None:
        """The next event of a worker, waited for `wait_s` seconds at most; None where there was none."""

    @abstractmethod
    def ended(self) -> bool:
        """True when all workers have ended and all events were taken."""

    def waits(self) -> bool:
        """True while no worker has started for want of room; a sweep with no run left need not wait for one."""
        return False

    @abstractmethod
    def replace_crashed(self) -> list[Crash]:
        """Starts a worker for each that ended badly; returns how each of these ended."""

    @abstractmethod
    def stop(self, grace_s: float) -> Sequence[str] | None:
        """Requests all workers to stop at their next step; kills those still at work after `grace_s` seconds.

        Returns the names of the killed ones, whose runs the sweep frees then; None where there is none.
        """


class Control(ABC):
    """The connection of a worker to the process that started it: requests to stop, and events."""

    @abstractmethod
    def is_set(self) -> bool:
        """True when the worker is to stop at its next step."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Waits so many seconds, or until the worker is to stop."""

    @abstractmethod
    def is_abandoned(self) -> bool:
        """True when the process that started the worker is gone."""

    @abstractmethod
    def tell(self, event: Event) -> None:
        """Sends an event to the process that started the worker; without a reader it is lost."""

    def say(self, text: str) -> None:  # noqa: B027, most have nothing to do
        """Prints a line for the user; nothing under a sweep, which prints such lines itself."""

    def carry_out(self, run: Run, assignment: Assignment, place: Workplace, machine: Machine) -> Result:
        """Carries out a run in this process, or on several devices of this machine; returns its result."""
        if machine.devices > 1:
            return run_on_devices(run, assignment, machine)
        return carry_out(run, place, machine)


class ThreadControl(Control):
    """Control of a worker that is stopped from a thread of the worker's process, and so is never abandoned."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def set(self) -> None:
        """Requests the worker to stop."""
        self._stop.set()

    def is_set(self) -> bool:
        return self._stop.is_set()

    def wait(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def is_abandoned(self) -> bool:
        return False


class OwnControl(ThreadControl):
    """Control of a worker without a sweep: events are dropped, lines are printed."""

    def tell(self, event: Event) -> None:
        pass

    def say(self, text: str) -> None:
        tell(text)
