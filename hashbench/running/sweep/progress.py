"""Events of workers, and the progress that a sweep shows of them: bars on a terminal, plain lines in a log, on stderr.

A lost event is a lost line on the screen, nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from hashbench.common.showing import duration_text

LINE_EVERY_S = 60.0  # in a log, a sign of life of a long run this often


@dataclass(frozen=True)
class RunStarted:
    """Event: a worker has started a run."""

    worker: int
    run_id: str
    label: str


@dataclass(frozen=True)
class RunProgress:
    """Event: a new point of a curve (loss or score) of a worker's current run."""

    worker: int
    name: str
    value: float
    step: int
    total_steps: int


@dataclass(frozen=True)
class RunEnded:
    """Event: a run of a worker is done, has failed, was interrupted or lost its lease."""

    worker: int
    run_id: str
    label: str
    state: str  # done | failed | interrupted | lost
    seconds: float
    note: str = ""  # a score, or the reason of a failure


Event = RunStarted | RunProgress | RunEnded


class SweepProgress:
    """Shows workers' events on stderr; `time_left` estimates the seconds until the sweep is done."""

    def __init__(
        self, n_runs: int, n_done: int, time_left: Callable[[], float | None], stream: TextIO | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._n_runs, self._n_done, self._n_failed = n_runs, n_done, 0
        self._time_left = time_left
        self._spoke_at: dict[int, float] = {}
        self._labels: dict[int, str] = {}
        self._first_point: dict[int, tuple[int, float]] = {}  # step and time of a run's first point
        console = Console(file=self._stream)
        self._bars = _bars(console) if console.is_terminal else None
        self._rows: dict[int, TaskID] = {}
        self._sweep_row: TaskID | None = None

    def __enter__(self) -> SweepProgress:
        if self._bars is not None:
            self._bars.start()
            self._sweep_row = self._bars.add_task(
                "sweep", total=self._n_runs, completed=self._n_done, note="", is_sweep=True
            )
        else:
            self._line(f"{self._n_runs - self._n_done} of {self._n_runs} runs to do")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, event: Event) -> None:
        """Shows one event of a worker."""
        if isinstance(event, RunStarted):
            self._started(event)
        elif isinstance(event, RunProgress):
            self._progressed(event)
        else:
            self._ended(event)

    def tell(self, text: str) -> None:
        """Prints one line, above the bars if there are any."""
        if self._bars is not None:
            self._bars.console.print(text, highlight=False, markup=False)
        else:
            self._line(text)

    def _started(self, event: RunStarted) -> None:
        self._labels[event.worker] = event.label
        self._first_point.pop(event.worker, None)
        self._spoke_at[event.worker] = time.monotonic()
        if self._bars is None:
            return
        if event.worker in self._rows:
            self._bars.remove_task(self._rows[event.worker])
        self._rows[event.worker] = self._bars.add_task(f"  {event.label}", total=None, note="")

    def _progressed(self, event: RunProgress) -> None:
        note = f"{event.name} {event.value:.4g}"
        if self._bars is None and event.worker not in self._first_point:
            self._first_point[event.worker] = (event.step, time.monotonic())
        if self._bars is not None and event.worker in self._rows:
            self._bars.update(self._rows[event.worker], total=event.total_steps, completed=event.step, note=note)
        elif self._bars is None and time.monotonic() - self._spoke_at.get(event.worker, 0.0) > LINE_EVERY_S:
            self._spoke_at[event.worker] = time.monotonic()
            label = self._labels.get(event.worker, "")
            seconds = self._run_left(event)
            rest = f", about {duration_text(seconds)} left" if seconds else ""
            self._line(f"    {label}: step {event.step} of {event.total_steps}, {note}{rest}")

    def _run_left(self, event: RunProgress) -> float | None:
        """Estimated seconds until a worker's run is done, by its steps since the first point; None without any."""
        first_step, began = self._first_point.setdefault(event.worker, (event.step, time.monotonic()))
        if event.step <= first_step:
            return None
        return (time.monotonic() - began) * (event.total_steps - event.step) / (event.step - first_step)

    def _ended(self, event: RunEnded) -> None:
        self._n_done += event.state == "done"
        self._n_failed += event.state == "failed"
        seconds = self._time_left()
        rest = f", about {duration_text(seconds)} left" if seconds else ""
        if seconds is None and self._n_done + self._n_failed < self._n_runs:
            rest = ", time left not known yet"
        place = f"[{self._n_done}/{self._n_runs}{rest}]"
        note = f"; {event.note}" if event.note else ""
        self.tell(f"{place} {event.label}: {event.state} in {duration_text(event.seconds)}{note}")
        if self._bars is not None and self._sweep_row is not None:
            failed = f"{self._n_failed} failed" if self._n_failed else ""
            self._bars.update(self._sweep_row, completed=self._n_done, note=f"{failed}{rest}".lstrip(", "))

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _TimeLeftOfRun(TimeRemainingColumn):
    """The time left by the steps of a run; nothing for a sweep, whose runs differ and whose note has an estimate."""

    def render(self, task: Task) -> Text:
        return Text("") if task.fields.get("is_sweep") else super().render(task)


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        _TimeLeftOfRun(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    )
