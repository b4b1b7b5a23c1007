"""The guard of a worker: a small process that ends the worker where a run of it hangs or lasts too long.

A worker cannot do that itself: code that is blocked in C may hold Python's lock, and then no other thread of the worker
runs, nor any handler of signals. So a guard sees signs of progress that no longer come (common/progress.py), stores the
end of the attempt, has the worker write the stack of each of its threads, and kills it with all that it started. Who
started the worker then sees a dead process, as always. A guard is a child of its worker, on any executor and under any
command, and ends with it.

It imports next to nothing until something hangs: `python -m hashbench.running.sweep.guard FOLDER PROCESS`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from hashbench.common import clock
from hashbench.common.process import outlive_readers
from hashbench.common.progress import LOOK_EVERY_S, Sign, Silence, begin_work, give_signs_to
from hashbench.common.showing import duration_text
from hashbench.running.sweep.processes import BATCH_SIGNALS, SIGNALS, family_of, is_one_stopped, is_stopped, kill_family

HUNG, TOO_LONG = "hung: ", "not done within run_hours: "  # begin the reasons of attempts that a guard has ended
GRACE_S = (
    60.0  # beyond run_hours, for a run that stops by itself: a step at base on a CPU, and the checkpoint behind it
)
STORE_S = 60.0  # for a database that is away; then the worker is killed, and its lease ends
STACK_S = 5.0  # for the stacks to be written
LOG_LIMIT = 64_000  # characters of a run's log that are kept, from its end
STACKS, SIGNS, LOG, ENDED = "stacks", "signs", "log", "ended"  # files of the folder that worker and guard share
WRITE_STACKS = signal.SIGUSR2  # to a worker: write the stack of each thread
LAST_BYTES = 100_000  # of the stacks that are read


@dataclass(frozen=True)
class Guarded:
    """An attempt with its limits, as the worker hands it to its guard."""

    db: str
    attempt_id: int
    token: str
    run_id: str
    hang_s: float | None  # of silence; None: no limit
    from_start: bool  # whether its kind gives signs of progress from the start
    run_hours: float | None
    grace_s: float
    max_attempts: int
    speaks: bool  # whether the end is printed too: nobody watches the worker
    # By the monotonic clock, which all processes of a machine share
    began: float = field(default_factory=lambda: clock.monotonic())


class Guard:
    """The worker's side of its guard, one for each process; attempts may be within another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._begun: list[Guarded] = []
        self._lock = threading.Lock()
        self._stacks: IO[str] | None = None
        self.folder: Path | None = None

    def begin(self, attempt: Guarded) -> None:
        """Guards an attempt from now on, until `end`; where no process can be started, it is not guarded."""
        begin_work()  # before the guard looks, since the last sign was one of another attempt
        with self._lock:
            self._begun.append(attempt)
            self._tell("begin", asdict(attempt))

    def end(self) -> None:
        """Ends the guarding of the attempt that was begun last."""
        if self.folder is not None and (self.folder / ENDED).exists():
            # The stacks were requested, which woke up what hung. The next run belongs to a worker that lives.
            time.sleep(STORE_S)
            os._exit(1)
        begin_work()
        with self._lock:
            self._begun.pop()
            self._tell("end", {})

    def again(self) -> None:
        """Counts the time of the last attempt anew, if there is one."""
        with self._lock:
            self._tell("again", {})

    def note_log(self, text: str) -> None:
        """Notes the log of the current attempt; starts the guard anew where it, or its folder, is gone."""
        with self._lock:
            if self.folder is not None:
                with contextlib.suppress(OSError):
                    (self.folder / LOG).write_text(text, "utf-8", errors="replace")
                if self._process is not None and not (self.folder / SIGNS).exists():
                    self._process.kill()
                    self._process.wait()
            if self._process is not None and self._process.poll() is not None:
                self._tell("again", {})

    def _tell(self, what: str, values: Mapping[str, object]) -> None:
        """Sends a message to the process; a new one gets all attempts in its place."""
        if not self._begun and what != "end":
            return
        try:
            if self._process is not None and self._process.poll() is None:
                self._send(what, values)
            elif self._begun:
                self._start()
                for attempt in self._begun:
                    self._send("begin", asdict(attempt))
        except OSError as error:
            self._process = None
            print(f"runs that hang are not ended here: {error}", file=sys.stderr)

    def _send(self, what: str, values: Mapping[str, object]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps({"what": what, **values}) + "\n")
        self._process.stdin.flush()

    def _start(self) -> None:
        """Starts the process, with a folder for signs and stacks. Raises OSError where that cannot be."""
        folder = Path(tempfile.mkdtemp(prefix=folder_prefix(os.getpid())))
        give_signs_to(folder / SIGNS)
        begin_work()
        if not Sign.read(folder / SIGNS).at:  # a full disk, on which every run would be silent
            raise OSError(f"{folder}: cannot be written")
        if self._stacks is not None:
            self._stacks.close()
        self._stacks = (folder / STACKS).open("a")
        faulthandler.register(WRITE_STACKS, file=self._stacks, all_threads=True)
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hashbench.running.sweep.guard", str(folder), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            # a worker on Ray has the paths of the process that sweeps
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )


def folder_prefix(worker: int) -> str:
    """How the name of the folder begins that a worker shares with its guard."""
    return f"hashbench-{worker}-"


def kill_worker(worker: int) -> None:
    """Kills a worker of this machine with all that it started, its guard too, and removes their folder."""
    kill_family(worker)
    for folder in Path(tempfile.gettempdir()).glob(f"{folder_prefix(worker)}*"):
        shutil.rmtree(folder, ignore_errors=True)


_guards: dict[int, Guard] = {}


def guard_of_process() -> Guard:
    """The guard of this process; a fork has none of its parent's."""
    return _guards.setdefault(os.getpid(), Guard())


def write_stacks_to(folder: Path | None) -> None:
    """Lets a process that a worker started leave signs and stacks where the worker's guard finds them."""
    if folder is not None:
        give_signs_to(folder / SIGNS)
        faulthandler.register(WRITE_STACKS, file=(folder / STACKS).open("a"), all_threads=True)


class Watcher:
    """The guard's side: watches the attempt that was begun last, and knows why it is to end."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder, self._worker = folder, worker
        self.attempts: list[Guarded] = []
        self.watch = Silence(None)

    def hear(self, message: dict[str, object]) -> None:
        """Takes in a message of the worker."""
        what = message.pop("what")
        if what == "begin":
            self.attempts.append(Guarded(**message))  # type: ignore[arg-type]
        elif what == "end" and self.attempts:
            self.attempts.pop()
        if self.attempts:
            last = self.attempts[-1]
            self.watch = Silence(last.hang_s, from_start=last.from_start)

    def look(self) -> str:
        """Why the worker is to be ended: the reason of its attempt; "" where it is not."""
        if not self.attempts:
            return ""
        last = self.attempts[-1]
        self.watch.look(Sign.read(self._folder / SIGNS), stopped=is_stopped(self._worker))
        if last.run_hours is not None and self.watch.lasted_s >= 3600.0 * last.run_hours + last.grace_s:
            return f"{TOO_LONG}{last.run_hours:g}; it did not stop, and its process was ended {self._where()}"
        if not self.watch.is_hung:
            return ""
        if is_one_stopped(self._worker, spare=os.getpid()):
            self.watch.forgive()
            return ""
        silence = duration_text(self.watch.silent_s)
        return f"{HUNG}no sign of progress for {silence}; its process was ended {self._where()}; its log has the stack"

    def _where(self) -> str:
        doing = f", in: {self.watch.newest.doing}" if self.watch.newest.doing else ""
        return f"on {socket.gethostname()}{doing}"


def main(folder: Path, worker: int) -> None:
    """Watches a worker, the parent of this process, until one of the two ends."""
    outlive_readers()
    for number in (*SIGNALS, *BATCH_SIGNALS):  # they mean the worker
        signal.signal(number, signal.SIG_IGN)
    watcher, rest = Watcher(folder, worker), b""
    try:
        while os.getppid() == worker:
            if select.select([0], [], [], LOOK_EVERY_S)[0]:
                heard = os.read(0, 1 << 16)
                if not heard:
                    return
                *lines, rest = (rest + heard).split(b"\n")
                for line in lines:
                    watcher.hear(json.loads(line))
            if reason := watcher.look():
                end_worker(watcher.attempts, reason, folder, worker)
                return
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def end_worker(attempts: list[Guarded], reason: str, folder: Path, worker: int) -> None:
    """Stores why the attempts of a worker end, then kills it and all that it started.

    The reason is stored first: who started the worker frees the runs of a dead one as lost, which counts as no try. The
    stacks come after it: a signal may wake up what hangs, and its result would count.
    """
    try:
        with contextlib.suppress(OSError):
            (folder / ENDED).touch()
        is_stored = _stored(attempts, reason, _text_of(folder / LOG))
        _request_stacks(folder, worker)
        log = f"{_text_of(folder / LOG)}\n{reason}\n{_text_of(folder / STACKS)}"[-LOG_LIMIT:]
    finally:
        kill_family(worker, spare=os.getpid())
    if is_stored:
        _stored(attempts, "", log)
    else:  # it may be the worker that kept the database busy
        _stored(attempts, reason, log)
    if attempts[-1].speaks:
        run = attempts[-1].run_id[:12]
        print(f"run {run}: {reason} (hashbench log {run})", file=sys.stderr, flush=True)


def _stored(attempts: list[Guarded], reason: str, log: str) -> bool:
    """Stores the end of attempts, or without a reason their log alone; False where the database refuses it."""
    from hashbench.common.showing import without_passwords
    from hashbench.store.engine import open_store, parse
    from hashbench.store.queue import end_for, set_log
    from hashbench.store.retry import Retry

    try:
        db = attempts[-1].db
        retry = Retry(parse(db)[1], STORE_S, tell=lambda line: None)
        store, log = retry(open_store, db, create=False), without_passwords(log)
        for attempt in reversed(attempts):
            # another try would last as long
            tries = attempt.max_attempts if reason.startswith(TOO_LONG) and attempt is attempts[-1] else 1
            if reason:
                seconds = max(0.0, clock.monotonic() - attempt.began)
                retry(end_for, store, attempt.attempt_id, attempt.token, reason, log, seconds=seconds, tries=tries)
            else:
                retry(set_log, store, attempt.attempt_id, attempt.token, log)
        store.close()
    except Exception as error:  # whatever it is, the worker must be ended
        print(f"the end of a run was not stored: {without_passwords(str(error))}", file=sys.stderr, flush=True)
        return False
    return True


def _request_stacks(folder: Path, worker: int) -> None:
    """Has the worker and what it started write their stacks, and waits until they are there."""
    for process_id in family_of(worker, spare=os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process_id, WRITE_STACKS)
    size, until = 0, time.monotonic() + STACK_S
    while time.monotonic() < until:
        time.sleep(0.2)
        now = (folder / STACKS).stat().st_size
        if now and now == size:
            return
        size = now


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes()[-LAST_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
