"""Interfaces between a sweep and its workers: Executor, the place where they live, and Control, the way back."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
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
    """A worker that ended although nobody stopped it."""

    how: str  # in words for the screen
    worker: str  # the name under which it claimed runs
    is_try: bool = True  # whether its run may be the reason; not where the machine is gone


class Executor(ABC):
    """Some workers that carry out the runs of one assignment; a new one is made for each phase of a sweep.

    It carries nothing out twice by itself: which run is tried again is decided by the store alone.
    """

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        self.assignment, self.n_workers = assignment, n_workers

    @abstractmethod
    def start(self) -> None:
        """Starts the workers."""

    @abstractmethod
    def event(self, wait_s: float) -> Event | None:
        """The next event of a worker, waited for so long at most; None where there was none."""

    @abstractmethod
    def ended(self) -> bool:
        """True when all workers have ended and all events were taken."""

    def waits(self) -> bool:
        """True when no worker is at work yet, for want of a place: where nothing is left to do, none needs one."""
        return False

    @abstractmethod
    def replace_crashed(self) -> list[Crash]:
        """Starts a worker for each that ended badly, and says how each of these ended."""

    @abstractmethod
    def stop(self, grace_s: float) -> None:
        """Asks all workers to stop at their next step, and kills what has not stopped in time."""


class Control(ABC):
    """The connection of a worker to the process that started it: requests to stop, and events."""

    @abstractmethod
    def is_set(self) -> bool:
        """True when the worker is to stop at its next step."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Waits so long, or until the request to stop."""

    @abstractmethod
    def is_abandoned(self) -> bool:
        """True when nobody is left who would take the result."""

    @abstractmethod
    def tell(self, event: Event) -> None:
        """Hands an event on; one that nobody takes is lost."""

    def say(self, text: str) -> None:  # noqa: B027, most have nothing to do
        """A line for a person, where nobody else looks at the database; a sweep says it by itself."""

    def carry_out(self, run: Run, assignment: Assignment, place: Workplace, machine: Machine) -> Result:
        """The result of a run: in this process, or of several devices of this machine."""
        if machine.devices > 1:
            return run_on_devices(run, assignment, machine)
        return carry_out(run, place, machine)


class ThreadControl(Control):
    """Control of a worker that a thread of its process stops. It ends with this process: it is never abandoned."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def set(self) -> None:
        """Requests the end."""
        self._stop.set()

    def is_set(self) -> bool:
        return self._stop.is_set()

    def wait(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def is_abandoned(self) -> bool:
        return False


class OwnControl(ThreadControl):
    """Control of a worker that nobody watches."""

    def tell(self, event: Event) -> None:
        pass

    def say(self, text: str) -> None:
        tell(text)
