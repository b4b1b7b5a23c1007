"""Workers on this machine: processes that are started once and carry out one run after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event as StopEvent

from hashbench.sweep.assignment import Assignment
from hashbench.sweep.events import Event


class LocalWorkers:
    """A fixed number of worker processes. One that crashes is replaced, since its run may be another's turn."""

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would carry torch's thread pools along
        self._context, self._assignment = context, assignment
        self.stop: StopEvent = context.Event()
        self.events: Queue[Event] = context.Queue()
        self._n_workers = n_workers
        self._processes: list[BaseProcess] = []

    def start(self) -> None:
        """Starts the workers."""
        for index in range(self._n_workers):
            self._processes.append(self._started(index))

    def _started(self, index: int) -> BaseProcess:
        process = self._context.Process(
            target=work, args=(self._assignment, index, self.stop, self.events, os.getpid()), name=f"worker-{index}"
        )
        process.start()
        return process

    @property
    def alive(self) -> bool:
        """Whether any worker still runs."""
        return any(process.is_alive() for process in self._processes)

    def crashed(self) -> list[tuple[int, int]]:
        """(process id, exit code) of the workers that ended badly and were not replaced yet."""
        return [(p.pid or 0, p.exitcode) for p in self._processes if p.exitcode not in (None, 0)]

    def replace(self) -> None:
        """Starts a worker for each that ended badly."""
        for index, process in enumerate(self._processes):
            if process.exitcode not in (None, 0) and not self.stop.is_set():
                self._processes[index] = self._started(index)

    def end(self, patience_s: float) -> None:
        """Asks all to stop at their next step, and kills what has not stopped in time."""
        self.stop.set()
        deadline = time.monotonic() + patience_s
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def work(assignment: Assignment, index: int, stop: StopEvent, events: Queue[Event], parent: int) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    if assignment.gpus:  # torch looks at this when CUDA is first used, which is later
        os.environ["CUDA_VISIBLE_DEVICES"] = assignment.gpus[index % len(assignment.gpus)]
    from hashbench.sweep.worker import Worker

    Worker(assignment, index, stop, events, parent).loop()
    events.close()
    events.join_thread()
