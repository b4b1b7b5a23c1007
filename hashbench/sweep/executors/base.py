"""What a sweep asks of the place where its workers live."""

from __future__ import annotations

from abc import ABC, abstractmethod

from hashbench.sweep.assignment import Assignment
from hashbench.sweep.events import Event


class Executor(ABC):
    """Some workers that carry out the runs of one assignment; a new one is made for each phase of a sweep."""

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
        """Whether all workers have ended and all events were taken."""

    @abstractmethod
    def replace_crashed(self) -> list[str]:
        """Starts a worker for each that ended badly; says how each of these ended, in words for the screen."""

    @abstractmethod
    def stop(self, patience_s: float) -> None:
        """Asks all workers to stop at their next step, and kills what has not stopped in time."""
