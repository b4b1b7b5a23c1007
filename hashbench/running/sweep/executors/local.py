"""Workers on this machine: processes that are started once and carry out one run after the other.

Each has a separate pipe to the sweep. A queue or an event of several processes has locks that a worker which is
killed at the wrong moment would take with it, and then all others wait for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from hashbench.common.spawning import SPAWNING
from hashbench.running.sweep.assignment import Assignment, PackedAssignment
from hashbench.running.sweep.executors.base import Control, Crash, Executor
from hashbench.running.sweep.guard import kill_worker
from hashbench.running.sweep.processes import BATCH_SIGNALS, SIGNALS, name_of
from hashbench.running.sweep.progress import Event

KILLED_WITHIN_S = 10.0  # a killed process ends
# Exit codes of a process that another one ended: preempted, out of the machine's memory, its terminal closed
FROM_OUTSIDE = {-number for number in (signal.SIGKILL, *SIGNALS, *BATCH_SIGNALS)}


@dataclass
class LocalWorker:
    """A worker process with the sweep's end of its pipe (None once nothing more can come through it)."""

    process: BaseProcess
    pipe: Connection | None
    name: str  # under which it claims runs

    def has_more(self) -> bool:
        """True when an event of the worker has not been taken yet."""
        return self.pipe is not None and self.pipe.poll()


class LocalExecutor(Executor):
    """An executor with a fixed number of worker processes, each replaced if it crashes."""

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        super().__init__(assignment, n_workers)
        # In a file: as an argument it would be longer than a pipe holds, and a worker reads its arguments only when it
        # has imported torch, for which the start of the next one would wait.
        self._packed = tempfile.NamedTemporaryFile(prefix="hashbench-assignment-")  # noqa: SIM115
        self._packed.write(pickle.dumps(PackedAssignment.of(assignment)))
        self._packed.flush()
        self._stopping = False
        self._workers: list[LocalWorker] = []

    def start(self) -> None:
        for index in range(self.n_workers):
            self._workers.append(self._started(index))

    def event(self, wait_s: float) -> Event | None:
        talking = [worker for worker in self._workers if worker.pipe is not None]
        ready = wait([worker.pipe for worker in talking if worker.pipe is not None], wait_s)
        for worker in talking:
            if worker.pipe is not None and worker.pipe in ready:
                try:
                    event: Event = worker.pipe.recv()
                    return event
                except (EOFError, OSError):  # the worker has ended, perhaps in the middle of a word
                    worker.pipe = None
        return None

    def ended(self) -> bool:
        return not any(self._is_to_end(worker) for worker in self._workers)

    def replace_crashed(self) -> list[Crash]:
        crashes = []
        for index, worker in enumerate(self._workers):
            code = worker.process.exitcode
            if code not in (None, 0) and not worker.has_more() and not self._stopping:
                how = f"worker {worker.process.pid or 0} ended with code {code}"
                crashes.append(Crash(how, worker.name, is_try=code not in FROM_OUTSIDE))
                self._workers[index] = self._started(index)
        return crashes

    def stop(self, grace_s: float) -> list[str]:
        self._stopping = True
        for worker in self._workers:
            with contextlib.suppress(OSError):  # it has ended
                if worker.pipe is not None:
                    worker.pipe.send(None)
        deadline = time.monotonic() + grace_s
        while not self.ended() and time.monotonic() < deadline:
            self.event(wait_s=0.2)  # a worker that nobody listens to could not end
        killed = [worker for worker in self._workers if worker.process.is_alive()]
        for worker in killed:
            if worker.process.pid is not None:
                kill_worker(worker.process.pid)
        for worker in self._workers:
            # one that waits for a dead disk cannot even be killed
            worker.process.join(None if worker not in killed else KILLED_WITHIN_S)
        self._packed.close()  # which removes it
        return [worker.name for worker in killed]

    def _is_to_end(self, worker: LocalWorker) -> bool:
        """True when a worker's end, an event of it or its replacement is still to come.

        A worker that crashed may have held the last run, and it may be the only worker: the sweep must not end before
        that run was given to another.
        """
        code = worker.process.exitcode
        return code is None or worker.has_more() or (code != 0 and not self._stopping)

    def _started(self, index: int) -> LocalWorker:
        here, there = SPAWNING.Pipe()
        process = SPAWNING.Process(target=work, args=(self._packed.name, index, there), name=f"worker-{index}")
        process.start()
        there.close()  # else the end of the worker would not end the pipe
        return LocalWorker(process, here, name_of(process.pid or 0))


class ProcessControl(Control):
    """Control of a worker in a child process of the sweep, through a pipe: events out, the request to stop in."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._stop, self._lock = pipe, False, threading.Lock()
        self._signalled = False

    def signalled(self, *_: object) -> None:
        """Signal handler that stops this worker alone, without waiting for a lock."""
        self._signalled = True

    def is_set(self) -> bool:
        if self._signalled:
            return True
        with self._lock, contextlib.suppress(OSError):
            # at its end too: nobody is left to work for
            self._stop = self._stop or self._pipe.poll()
        return self._stop

    def wait(self, seconds: float) -> None:
        if not self.is_set():
            with contextlib.suppress(OSError):
                self._pipe.poll(seconds)

    def is_abandoned(self) -> bool:
        parent = multiprocessing.parent_process()
        return parent is not None and not parent.is_alive()

    def tell(self, event: Event) -> None:
        with self._lock, contextlib.suppress(ValueError, OSError):  # a closed pipe: nobody watches any more
            self._pipe.send(event)


def work(packed: str, index: int, pipe: Connection) -> None:
    """The main function of a worker process: carries out runs of the assignment in a file until none is left.

    It ends before that at a stop.
    """
    # Ctrl-C and a closed terminal reach the whole group; the parent decides what they mean.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    opened: PackedAssignment = pickle.loads(Path(packed).read_bytes())  # noqa: S301  # written by the sweep itself
    assignment = opened.open()
    if assignment.gpus:  # torch looks at this when CUDA is first used, which is later
        os.environ["CUDA_VISIBLE_DEVICES"] = assignment.gpus[index % len(assignment.gpus)]
    from hashbench.running.sweep.worker import Worker

    control = ProcessControl(pipe)
    # Slurm sends one of them to all processes of a job. Lightning calls this handler beside its own. A guard that is
    # begun takes SIGUSR2 for the stacks: then the sweep requests the stop.
    for number in (signal.SIGTERM, *BATCH_SIGNALS):
        signal.signal(number, control.signalled)
    Worker(assignment, index, control).loop()
    pipe.close()
