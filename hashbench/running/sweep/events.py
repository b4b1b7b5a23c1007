"""What workers tell the process that shows the progress. Losing an event loses a line on the screen, nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunStarted:
    """A worker took up a run."""

    worker: int
    run_id: str
    label: str


@dataclass(frozen=True)
class RunProgress:
    """A point of a curve of the run in hand."""

    worker: int
    name: str
    value: float
    step: int
    total_steps: int


@dataclass(frozen=True)
class RunEnded:
    """A run is done, has failed or was interrupted."""

    worker: int
    run_id: str
    label: str
    state: str  # done | failed | interrupted | lost
    seconds: float
    note: str = ""  # a score, or the reason of a failure


Event = RunStarted | RunProgress | RunEnded
