"""Workers on this machine: processes that are started once and carry out one run after the other.

A worker reports in lines of JSON on its standard output. A line on its standard input requests it to stop; the end of
that input says that whoever started it is gone.

Whoever started a worker also watches it, since a worker cannot end itself where a run hangs: code that is blocked in C
may hold Python's lock, and then no thread of the worker runs, nor any handler of signals. Where signs of progress
(common/progress.py) no longer come, the worker writes the stack of each of its threads, and is killed with all that it
started. Why is stored by the sweep.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from hashbench.common import clock
from hashbench.common.progress import LOOK_EVERY_S, Sign, Silence
from hashbench.common.showing import duration_text, without_passwords
from hashbench.running.sweep.assignment import Assignment, pack
from hashbench.running.sweep.executors import Executor
from hashbench.running.sweep.processes import BATCH_SIGNALS, SIGNALS, is_stopped
from hashbench.running.sweep.progress import Event, Hung, Watched, WorkerEnded, event_of

HUNG = "hung: "  # begins the reason of an attempt that is ended from outside
STACK_S = 5.0  # for the stacks to be written
KILLED_WITHIN_S = 10.0  # a killed process ends
LAST_WORDS_S = 1.0  # for the last reports of a worker that has ended
LOG_LIMIT = 64_000  # characters of a run's log that are kept, from its end
LAST_BYTES = 100_000  # of the stacks that are read
STACKS, SIGNS, LOG = "stacks", "signs", "log"  # files in the folder that a worker shares with whoever started it
STOP, END = b"stop\n", b"end\n"  # to a worker: stop at the next step; what is in flight counts no more
WRITE_STACKS = signal.SIGUSR2  # to a worker: write the stack of each thread
# Exit codes of a process that another one ended: preempted, out of the machine's memory, its terminal closed
FROM_OUTSIDE = {-number for number in (signal.SIGKILL, *SIGNALS, *BATCH_SIGNALS)}


def worker_command(file: str, worker: int) -> list[str]:
    """The command of a worker: the file of its assignment and its number."""
    # -P: a csv.py in the working folder is no module of the worker's
    return [sys.executable, "-P", "-m", "hashbench.running.sweep", file, str(worker)]


def module_paths() -> str:
    """A PYTHONPATH with which another process finds the modules that this one finds."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)


def start_process(command: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """The process of a worker, in a new session: Ctrl-C reaches the sweep alone, which decides what it means."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": module_paths(), **environment},
        start_new_session=True,
    )


class WorkerProcess:
    """A worker as whoever started it sees it: what it reports, whether it hangs, and its end."""

    def __init__(
        self,
        command: Sequence[str],
        worker: int,
        hang_s: float | None,
        tell: Callable[[Event], None],
        *,
        environment: dict[str, str] | None = None,
    ) -> None:
        """`tell`: gets all events of the worker, from another thread, `WorkerEnded` last."""
        self._worker, self._hang_s, self._tell = worker, hang_s, tell
        self._folder = Path(tempfile.mkdtemp(prefix="hashbench-worker-"))
        self._watched, self._silence = Watched(worker), Silence(None)
        self._hung = ""  # why it is ended from here
        self._ended: Hung | None = None
        self._process = start_process([*command, str(self._folder)], environment or {})
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._attendant = threading.Thread(target=self._attend, daemon=True)
        self._attendant.start()

    def stop(self) -> None:
        """Requests the worker to stop at its next step."""
        self._say(STOP)

    def _say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kills the worker with all that it started, if it still lives."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
        self._attendant.join(KILLED_WITHIN_S)  # one that waits for a dead disk cannot even be killed

    def _signal(self, number: int) -> None:
        """Sends a signal to the worker and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = None if self._hung else event_of(line)  # what the stacks wake up counts no more
            if isinstance(event, Watched):
                self._watched = event
                self._silence = Silence(self._hang_s, from_start=event.gives_signs)
            elif event is not None:
                self._tell(event)

    def _attend(self) -> None:
        """Looks at the worker again and again until it has ended, and reports its end."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(LOOK_EVERY_S)
                break
            if not self._hung and (reason := self._why_to_end()):
                self._end(reason)
        self._signal(signal.SIGKILL)  # to what it had started
        self._listener.join(LAST_WORDS_S)
        shutil.rmtree(self._folder, ignore_errors=True)
        how = f"worker {self._process.pid} ended with code {code}" if code else ""
        self._tell(WorkerEnded(self._worker, how, is_try=code not in FROM_OUTSIDE, hung=self._ended))

    def _why_to_end(self) -> str:
        """Why the worker is to be ended: the reason of its attempt; "" where it is not."""
        silence = self._silence
        if not self._watched.attempts:
            return ""
        silence.look(Sign.read(self._folder / SIGNS), stopped=is_stopped(self._process.pid))
        doing = f", in: {silence.newest.doing}" if silence.newest.doing else ""
        where = f"on {socket.gethostname()}{doing}"
        if silence.is_hung:
            for_s = duration_text(silence.silent_s)
            return f"{HUNG}no sign of progress for {for_s}; its process was ended {where}; its log has the stack"
        return ""

    def _end(self, reason: str) -> None:
        """Kills the worker once it has written its stacks, and notes why and what its attempts were.

        A signal may wake up what hangs. So the worker hears first that its attempt is over, and stores nothing more.
        """
        now = clock.monotonic()
        self._hung = reason
        ended = tuple((attempt, token, max(0.0, now - began)) for attempt, token, began in self._watched.attempts)
        self._say(END)
        self._request_stacks()
        self._signal(signal.SIGKILL)
        log = f"{_text_of(self._folder / LOG)}\n{reason}\n{_text_of(self._folder / STACKS)}"[-LOG_LIMIT:]
        self._ended = Hung(reason, without_passwords(log), ended)

    def _request_stacks(self) -> None:
        """Has the worker and what it started write their stacks, and waits until they are there."""
        self._signal(WRITE_STACKS)
        size, until = 0, time.monotonic() + STACK_S
        while time.monotonic() < until:
            time.sleep(0.2)
            now = len(_text_of(self._folder / STACKS))
            if now and now == size:
                return
            size = now


class LocalExecutor(Executor):
    """An executor whose workers are processes of this machine, or of a command that starts one elsewhere."""

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        super().__init__(assignment, n_workers)
        self._packed = pack(assignment)
        self._file = assignment_file(self._packed)
        self._said: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._workers: dict[int, WorkerProcess] = {}

    def command(self, worker: int) -> list[str]:
        """The command that starts the worker of a number."""
        return worker_command(self._file.name, worker)

    def start(self, worker: int) -> None:
        if not os.path.exists(self._file.name):  # systems clean their temporary folders, and sweeps take days
            self._remove_file()
            self._file = assignment_file(self._packed)
        gpus = self.assignment.gpus
        environment = {"CUDA_VISIBLE_DEVICES": gpus[worker % len(gpus)]} if gpus else {}
        hang_s = self.assignment.resolved.experiment.hang_s
        command = self.command(worker)
        self._workers[worker] = WorkerProcess(command, worker, hang_s, self._said.put, environment=environment)

    def events(self, wait_s: float) -> list[Event]:
        return taken(self._said, wait_s)

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.stop()

    def kill(self) -> None:
        for worker in self._workers.values():
            worker.kill()
        self._remove_file()

    def _remove_file(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._file.close()  # which removes it


def assignment_file(packed: bytes) -> IO[bytes]:
    """A temporary file with a packed assignment, which only this user can read; gone when it is closed."""
    file = tempfile.NamedTemporaryFile(prefix="hashbench-assignment-")  # noqa: SIM115
    file.write(packed)
    file.flush()
    return file


def taken(reports: queue.SimpleQueue[Event], wait_s: float) -> list[Event]:
    """All that a queue has; waits up to `wait_s` seconds for the first."""
    events: list[Event] = []
    with contextlib.suppress(queue.Empty):
        events.append(reports.get(timeout=wait_s))
        while True:
            events.append(reports.get_nowait())
    return events


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes()[-LAST_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
