"""Events that workers report, in lines of JSON, and how a sweep shows this progress: by bars or plain lines.

A lost event of a run is a lost line on the screen, nothing else.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from hashbench.common.showing import duration_text

LINE_EVERY_S = 60.0  # in a log, a sign of life of a long run this often


@dataclass(frozen=True)
class RunStarted:
    """Event: a worker has started a run. `announced`: of a kind that shows no steps, so that a line says so."""

    worker: int
    run_id: str
    label: str
    announced: bool = False


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


@dataclass(frozen=True)
class WorkerStarted:
    """Event: a worker begins to claim runs, under a name."""

    worker: int
    name: str


@dataclass(frozen=True)
class WorkerRefused:
    """Event: a worker cannot take part, for a reason that the user can do something about."""

    worker: int
    reason: str


@dataclass(frozen=True)
class Hung:
    """Why a worker was ended from outside: its attempts in flight (id, token, seconds) are failures with this log."""

    reason: str
    log: str
    attempts: tuple[tuple[int, str, float], ...]


@dataclass(frozen=True)
class WorkerEnded:
    """Event, the last of a worker: how it ended in words, "" where it found no more to do or was requested to stop."""

    worker: int
    how: str = ""
    is_try: bool = True  # whether its run may be the reason; not where something else ended it
    hung: Hung | None = None


@dataclass(frozen=True)
class Watched:
    """Event for whoever watches a worker: the attempts that it has in flight."""

    worker: int
    # Id, token and begin of each, by the monotonic clock of the machine; each was begun within the one before
    attempts: tuple[tuple[int, str, float], ...] = ()
    gives_signs: bool = False  # whether runs of the last one's kind give signs of progress from the start


RunEvent = RunStarted | RunProgress | RunEnded
Event = RunEvent | WorkerStarted | WorkerRefused | WorkerEnded
_KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (RunStarted, RunProgress, RunEnded, WorkerStarted, WorkerRefused, Watched)
}


def as_line(event: Event | Watched) -> str:
    """An event as a line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}) + "\n"


def event_of(line: bytes) -> Event | Watched | None:
    """The event of a line; None for a line that is none, as a worker leaves that is killed in the middle of it.

    >>> event_of(as_line(WorkerStarted(0, "here")).encode()), event_of(b'{"event": "WorkerSt')
    (WorkerStarted(worker=0, name='here'), None)
    """
    try:
        values = json.loads(line)
        event: Event | Watched = _KINDS[values.pop("event")](**values)
        return event
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


STARTING = "are loading what trains"  # which takes seconds, without a sign
BAR_ID_LETTERS = 8  # letters of a run id, as `status` prints it and `log` takes it


class SweepProgress:
    """Shows workers' events on stderr; `time_left` gives the seconds that the sweep still takes, None: not known."""

    def __init__(
        self, n_runs: int, n_done: int, time_left: Callable[[], float | None], stream: TextIO | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._n_runs, self._n_done, self._n_failed = n_runs, n_done, 0
        self._time_left = time_left
        self._left: tuple[float, float] | None = None  # as it was estimated, and when
        self._started_any = False
        self._spoke_at: dict[int, float] = {}
        self._labels: dict[int, str] = {}
        self._first_point: dict[int, tuple[int, float]] = {}  # step and time of a run's first point
        console = Console(file=self._stream)
        self._bars = _bars(console) if self._stream.isatty() else None
        self._rows: dict[int, TaskID] = {}
        self._sweep_row: TaskID | None = None

    def __enter__(self) -> SweepProgress:
        if self._bars is not None:
            self._bars.start()
            self._sweep_row = self._bars.add_task(
                "runs", total=self._n_runs, completed=self._n_done, note=f"workers {STARTING}", is_sweep=True
            )
        else:
            self._line(f"{self._n_runs - self._n_done} of {self._n_runs} runs to do; workers {STARTING}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, event: RunEvent) -> None:
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
        name = self._labels[event.worker] = _named(event)
        self._first_point.pop(event.worker, None)
        self._spoke_at[event.worker] = time.monotonic()
        if self._bars is not None:
            self._remove_row(event.worker)
            self._rows[event.worker] = self._bars.add_task(f"  {name}", total=None, note="")
            self._show_sweep()
        elif (
            event.announced or not self._started_any
        ):  # a sign of life, which the first run gives only at its end otherwise
            self._line(f"[{self._n_done}/{self._n_runs}{self._rest()}] {name}: begins")
        self._started_any = True

    def _progressed(self, event: RunProgress) -> None:
        note = f"{event.name} {event.value:.4g}"
        if self._bars is not None:
            if event.worker in self._rows:
                self._bars.update(self._rows[event.worker], total=event.total_steps, completed=event.step, note=note)
                self._show_sweep()
            return
        self._first_point.setdefault(event.worker, (event.step, time.monotonic()))
        if time.monotonic() - self._spoke_at.get(event.worker, 0.0) > LINE_EVERY_S:
            self._spoke_at[event.worker] = time.monotonic()
            seconds = self._run_left(event)
            rest = f", about {duration_text(seconds)} left" if seconds else ""
            self._line(
                f"    {self._labels.get(event.worker, '')}: step {event.step} of {event.total_steps}, {note}{rest}"
            )

    def _run_left(self, event: RunProgress) -> float | None:
        """Estimated seconds until a worker's run is done, by its steps since the first point; None without any."""
        first_step, began = self._first_point[event.worker]
        if event.step <= first_step:
            return None
        return (time.monotonic() - began) * (event.total_steps - event.step) / (event.step - first_step)

    def _ended(self, event: RunEnded) -> None:
        self._n_done += event.state == "done"
        self._n_failed += event.state == "failed"
        rest_s = self._time_left()
        self._left = None if rest_s is None else (rest_s, time.monotonic())
        note = f"; {event.note}" if event.note else ""
        place = f"[{self._n_done}/{self._n_runs}{self._rest()}]"
        self.tell(f"{place} {_named(event)}: {event.state} in {duration_text(event.seconds)}{note}")
        self._remove_row(event.worker)
        self._show_sweep()

    def _rest(self) -> str:
        """The time left in words, behind a comma, less the time since it was estimated; '' at the end."""
        if self._n_done + self._n_failed >= self._n_runs:
            return ""
        if self._left is None:
            return ", time left not known yet"
        seconds, at = self._left
        rest_s = seconds - (time.monotonic() - at)
        # below zero: a run takes longer than all were to take
        return f", about {duration_text(rest_s)} left" if rest_s > 0 else ", time left not known"

    def _show_sweep(self) -> None:
        """Shows in the row of the sweep how many runs are done and failed, and the time left."""
        if self._bars is not None and self._sweep_row is not None:
            failed = f", {self._n_failed} failed" if self._n_failed else ""
            note = f"{failed}{self._rest()}".lstrip(", ")
            self._bars.update(self._sweep_row, completed=self._n_done, note=note)

    def _remove_row(self, worker: int) -> None:
        if self._bars is not None and worker in self._rows:
            self._bars.remove_task(self._rows.pop(worker))

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def _named(event: RunStarted | RunEnded) -> str:
    return f"{event.run_id[:BAR_ID_LETTERS]} {event.label}"


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
