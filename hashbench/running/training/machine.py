"""Where and how a run is carried out: folder, devices, and the request to stop. Importing it does not load torch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from hashbench.common.shared import SharedFolder

Returned = TypeVar("Returned")
# Values by name, step, steps in all, and the number of points before, interrupted attempts included
Watch = Callable[[dict[str, float], int, int, int], None]


class Stop(Protocol):
    """A request to stop a run: an event of threads or of processes."""

    def is_set(self) -> bool:
        """True when the run is to stop at its next step."""
        ...


class Interrupted(Exception):
    """The run was stopped on request; its checkpoint is written and the same run can be taken up again."""


def in_thread(call: Callable[[], Returned]) -> Future[Returned]:
    """The result of a call that another thread makes, or its error; an unfinished call ends with the process."""
    done: Future[Returned] = Future()

    def make() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=make, daemon=True).start()
    return done


@dataclass(frozen=True)
class Machine:
    """Where and how a run is carried out: folder, devices, checkpoints; no part of the run's identity."""

    folder: Path  # scratch space of this run
    device: str = "auto"
    devices: int = 1  # of all nodes, a process for each
    nodes: int = 1  # with as many devices each
    checkpoint_minutes: float = 5.0
    rank: int = 0  # which of the devices this process drives
    # Half the rows at a time: with all of them memory was too small.
    halved: bool = False
    should_stop: Stop | None = None
    watch: Watch | None = None  # sees every point of a curve
    shared: SharedFolder | None = None  # where machines leave checkpoints for each other
    # Seconds of earlier attempts, one entry a training taken up.
    earlier: list[float] = field(default_factory=list)
    # How the hardware computed the run, where it was not the default; they become notes of the run.
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def local_rank(self) -> int:
        """Index of this process's device among the devices of its node."""
        return self.rank % (self.devices // self.nodes)
