"""Workers on this machine: processes that are started once and carry out one run after the other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import time
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event as StopEvent

from hashbench.sweep.assignment import Assignment, Parcel
from hashbench.sweep.events import Event
from hashbench.sweep.executors.base import Control, Crash, Executor

# Exit codes of a process that another one ended: preempted, out of the machine's memory, its terminal closed
FROM_OUTSIDE = {-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}


class LocalExecutor(Executor):
    """A fixed number of worker processes. One that crashes is replaced, since its run may be another's turn."""

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        super().__init__(assignment, n_workers)
        # A fork would carry torch's thread pools along.
        context = multiprocessing.get_context("spawn")
        self._context, self._parcel = context, Parcel.of(assignment)
        self._stop: StopEvent = context.Event()
        self._events: Queue[Event] = context.Queue()
        self._processes: list[BaseProcess] = []

    def start(self) -> None:
        for index in range(self.n_workers):
            self._processes.append(self._started(index))

    def event(self, wait_s: float) -> Event | None:
        with contextlib.suppress(queue.Empty):
            return self._events.get(timeout=wait_s)
        return None

    def ended(self) -> bool:
        return self._events.empty() and not any(process.is_alive() for process in self._processes)

    def replace_crashed(self) -> list[Crash]:
        crashes = []
        for index, process in enumerate(self._processes):
            if process.exitcode not in (None, 0) and not self._stop.is_set():
                how = f"worker {process.pid or 0} ended with code {process.exitcode}"
                crashes.append(Crash(how, is_try=process.exitcode not in FROM_OUTSIDE))
                self._processes[index] = self._started(index)
        return crashes

    def stop(self, patience_s: float) -> None:
        self._stop.set()
        deadline = time.monotonic() + patience_s
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _started(self, index: int) -> BaseProcess:
        arguments = (self._parcel, index, self._stop, self._events)
        process = self._context.Process(target=work, args=arguments, name=f"worker-{index}")
        process.start()
        return process


class ProcessControl(Control):
    """Of a worker that is a child process of the sweep: an event and a queue between processes."""

    def __init__(self, stop: StopEvent, events: Queue[Event]) -> None:
        self._stop, self._events = stop, events
        self._asked = False

    def ask(self, *_: object) -> None:
        """Asks this worker alone to stop; the handler of a signal, which must not wait for a lock."""
        self._asked = True

    def is_set(self) -> bool:
        return self._asked or self._stop.is_set()

    def wait(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def is_abandoned(self) -> bool:
        parent = multiprocessing.parent_process()
        return parent is not None and not parent.is_alive()

    def tell(self, event: Event) -> None:
        with contextlib.suppress(ValueError, OSError):  # a closed queue: nobody watches any more
            self._events.put(event)


def work(parcel: Parcel, index: int, stop: StopEvent, events: Queue[Event]) -> None:
    """The life of a worker process."""
    # Ctrl-C and a closed terminal reach the whole group; the parent decides what they mean.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    assignment = parcel.open()
    if assignment.gpus:  # torch looks at this when CUDA is first used, which is later
        os.environ["CUDA_VISIBLE_DEVICES"] = assignment.gpus[index % len(assignment.gpus)]
    from hashbench.sweep.worker import Worker

    control = ProcessControl(stop, events)
    # Slurm sends it to all processes of a job. Lightning leaves a signal alone that has a handler.
    signal.signal(signal.SIGTERM, control.ask)
    Worker(assignment, index, control).loop()
    events.close()
    events.join_thread()
