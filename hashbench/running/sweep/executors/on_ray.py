"""An executor whose workers are actors on a Ray cluster, each placed where Ray has room for it.

Ray places workers and says within seconds that one is gone. It repeats nothing: which run is done again is decided by
the store, whose leases hold whatever Ray believes.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from hashbench.common.cache import named_cache
from hashbench.common.errors import InputError
from hashbench.common.showing import whole_number
from hashbench.running.runs.base import Workplace
from hashbench.running.sweep.assignment import Assignment, PackedAssignment
from hashbench.running.sweep.executors.base import Crash, Executor, ThreadControl
from hashbench.running.sweep.progress import Event
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result

WAIT_S = 5.0  # that a slot waits for an event before it answers that there is none
REACH_SECONDS = 10.0  # for a cluster's address to answer
LATE_S = 60.0  # after which a sweep says that workers have not started yet
STORE_BYTES = 128 * 2**20  # of a cluster of our own: nothing large goes through its object store


@dataclass(frozen=True)
class SlotAnswer:
    """A slot's answer to the sweep: its worker's events since the last answer, and whether it has ended."""

    events: list[Event]
    ended: bool


class SlotControl(ThreadControl):
    """Control of a worker in an actor, where the sweep's calls request the stop and take the events.

    Ray ends the actors of a sweep that is gone.
    """

    def __init__(self, process: Mapping[str, float] | None) -> None:
        """`process`: CPUs and GPUs of each process of a run on several devices; None: one device, the slot's."""
        super().__init__()
        self._process = process
        self.events: queue.Queue[Event | None] = queue.Queue()  # None: the last

    def tell(self, event: Event) -> None:
        self.events.put(event)

    def carry_out(self, run: Run, assignment: Assignment, place: Workplace, machine: Machine) -> Result:
        if self._process is None:
            return super().carry_out(run, assignment, place, machine)
        from hashbench.running.sweep.executors.ray_train import run_on_cluster

        return run_on_cluster(run, assignment, machine, self._process)


class Slot:
    """An actor that holds one worker; its methods run concurrently."""

    def __init__(self, packed: PackedAssignment, index: int, process: Mapping[str, float] | None) -> None:
        self._packed, self._index, self._control = packed, index, SlotControl(process)

    def open(self) -> str:
        """Makes the worker; returns the name under which it claims runs.

        Raises InputError where this node would plan other runs than those that are stored.
        """
        from hashbench.running.sweep.plan import refuse_other_runs
        from hashbench.running.sweep.processes import own_name
        from hashbench.running.sweep.worker import Worker

        cache = named_cache()  # of a node that has it elsewhere
        assignment = self._packed.open(cache)
        assignment = replace(assignment, cache=cache or assignment.cache)
        refuse_other_runs(assignment.resolved, assignment.runs, f"worker on {socket.gethostname()}")
        self._worker = Worker(assignment, self._index, self._control)
        return own_name()

    def work(self) -> None:
        """Carries out runs until none is left."""
        try:
            self._worker.loop()
        finally:
            self._control.events.put(None)

    def events(self, wait_s: float) -> SlotAnswer:
        """The events since the last answer; waits up to `wait_s` seconds for one."""
        taken: list[Event | None] = []
        with contextlib.suppress(queue.Empty):
            taken.append(self._control.events.get(timeout=wait_s))
            while True:
                taken.append(self._control.events.get_nowait())
        return SlotAnswer([event for event in taken if event is not None], None in taken)

    def stop(self) -> None:
        """Requests the worker to stop at its next step."""
        self._control.set()


@dataclass
class PlacedSlot:
    """The sweep's record of a slot: its actor, the answer that is awaited, and its state."""

    index: int
    actor: Any
    answer: Any
    work: Any = None
    name: str = ""
    ended: bool = False
    crash: str = ""


class RayExecutor(Executor):
    """An executor with a fixed number of actors on a Ray cluster, each replaced if it dies."""

    slot: type[Slot] = Slot

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        super().__init__(assignment, n_workers)
        connect()
        experiment = assignment.resolved.experiment
        refuse_file_for_machines(assignment.db)
        cpus = experiment.threads or cpus_of_process(n_workers * experiment.all_devices)
        self._needs = {"CPU": cpus, "GPU": gpus_of_process(experiment.device)}
        self._alone = experiment.all_devices == 1
        database = assignment.db if "://" in assignment.db else str(Path(assignment.db).absolute())
        self._packed = PackedAssignment.of(replace(assignment, db=database, threads=cpus, gpus=()))
        self._slots: list[PlacedSlot] = []
        self._events: deque[Event] = deque()
        self._stopping = False
        self._late_at = math.inf

    def start(self) -> None:
        self._late_at = time.monotonic() + LATE_S
        self._slots = [self._placed(index) for index in range(self.n_workers)]
        room = ray.cluster_resources()
        processes = self.n_workers * self.assignment.resolved.experiment.all_devices
        for kind, number in self._needs.items():
            present = int(room.get(kind, 0.0))
            if processes * number > present:
                print(f"Ray has {present} {kind}s, {processes * number} are asked for; some runs wait", file=sys.stderr)

    def event(self, wait_s: float) -> Event | None:
        self._say_if_late()
        waiting = {slot.answer: slot for slot in self._slots if not slot.ended and not slot.crash}
        if not self._events and waiting:
            with signals_as_raised():
                ready, _ = ray.wait(list(waiting), timeout=wait_s)
                for answer in ready:
                    self._take(waiting[answer])
        elif not self._events:
            time.sleep(wait_s)
        return self._events.popleft() if self._events else None

    def ended(self) -> bool:
        """True when a worker has ended, for then no run is left, and all others have ended or never started."""
        if self._events or any(slot.crash for slot in self._slots):
            return False
        return any(slot.ended for slot in self._slots) and all(slot.ended or not slot.name for slot in self._slots)

    def waits(self) -> bool:
        return not self._events and not any(slot.name and not slot.crash for slot in self._slots)

    def replace_crashed(self) -> list[Crash]:
        if self._stopping:
            return []
        crashes = []
        for slot in [slot for slot in self._slots if slot.crash]:
            crashes.append(Crash(slot.crash, slot.name, is_try=False))
            self._slots[slot.index] = self._placed(slot.index)
        return crashes

    def stop(self, grace_s: float) -> list[str]:
        self._stopping = True
        at_work = {slot.work: slot.name for slot in self._slots if slot.work and not slot.ended and not slot.crash}
        with contextlib.suppress(RayActorError), signals_as_raised():
            for slot in self._slots:
                slot.actor.stop.remote()
            if at_work:
                ended, _ = ray.wait(list(at_work), num_returns=len(at_work), timeout=grace_s)
                at_work = {work: name for work, name in at_work.items() if work not in ended}
        for slot in self._slots:
            ray.kill(slot.actor)
        return list(at_work.values())

    def _say_if_late(self) -> None:
        """Prints one line if workers have not started after LATE_S, for want of room or on a busy machine."""
        if time.monotonic() < self._late_at:
            return
        self._late_at = math.inf
        waiting = [slot for slot in self._slots if not slot.name and not slot.crash]
        if waiting:
            free, room = (of.get("CPU", 0.0) for of in (ray.available_resources(), ray.cluster_resources()))
            print(
                f"{len(waiting)} of {self.n_workers} workers have not started on Ray after {LATE_S:g} s; {free:g} "
                f"of its {room:g} CPUs are free (others may hold them; on a busy machine set RAY_worker_niceness=0)",
                file=sys.stderr,
            )

    def _placed(self, index: int) -> PlacedSlot:
        actor: Any = ray.remote(self.slot).options(
            # One that starts other processes takes nothing itself: else they would wait for it, and it for them.
            num_cpus=self._needs["CPU"] if self._alone else 0,
            num_gpus=self._needs["GPU"] if self._alone else 0,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=4,
            scheduling_strategy="SPREAD",
        )
        placed = actor.remote(self._packed, index, None if self._alone else self._needs)
        return PlacedSlot(index, placed, placed.open.remote())

    def _take(self, slot: PlacedSlot) -> None:
        """Records a slot's answer and requests the next. Raises InputError where the slot's node cannot take part."""
        try:
            answer = ray.get(slot.answer)
            if slot.work is not None and answer.ended:
                ray.get(slot.work)  # raises what ended the worker
        except RayError as error:  # a node or a process that died, or what was raised there
            if isinstance(error, RayTaskError) and isinstance(error.cause, InputError):
                raise error.cause from None
            slot.crash = f"worker {slot.index} on Ray ended: {type(error).__name__}: {first_words(error)}"
            return
        if slot.work is None:
            slot.name, slot.work = answer, slot.actor.work.remote()
        else:
            self._events.extend(answer.events)
            slot.ended = answer.ended
        if not slot.ended:
            slot.answer = slot.actor.events.remote(WAIT_S)


@contextlib.contextmanager
def signals_as_raised() -> Iterator[None]:
    """Raises what a signal handler raised while Ray waited, in place of the SystemError that Ray makes of it."""
    try:
        yield
    except SystemError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


def first_words(error: Exception) -> str:
    """The last non-empty line of an error's message, cut to 200 characters; above it Ray prints tracebacks."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def check_address(address: str) -> None:
    """Raises InputError where nothing listens at HOST:PORT; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    number = whole_number(port) if colon else None
    if number is None:
        return  # "auto" and the like
    try:
        socket.create_connection((host.strip("[]"), number), timeout=REACH_SECONDS).close()
    except OSError as error:
        raise no_cluster(address) from error


def no_cluster(address: str) -> InputError:
    """The InputError for an address without a cluster."""
    return InputError(f"RAY_ADDRESS {address}: no Ray cluster there; start one with: ray start --head")


def connect() -> None:
    """Connects this process to the Ray cluster at RAY_ADDRESS, else to one on this machine, else to a new one here.

    Raises InputError where there is none at the address.
    """
    if ray.is_initialized():
        return
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    address = os.environ.get("RAY_ADDRESS", "")
    check_address(address)
    before = signal.getsignal(signal.SIGTERM)  # Ray takes the signal for itself, the sweep wants it back
    try:
        try:
            ray.init(address=address or "auto", **options)
        except ConnectionError as error:
            if address:
                raise no_cluster(address) from error
            ray.init(address="local", include_dashboard=False, object_store_memory=STORE_BYTES, **options)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def refuse_file_for_machines(db: str) -> None:
    """Raises InputError where a cluster of several machines would share a SQLite file."""
    machines = {node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]}
    if "://" not in db and len(machines) > 1:
        raise InputError(
            f"--db {db}: a SQLite file, but the Ray cluster has {len(machines)} machines; give a PostgreSQL address, "
            "postgresql://USER@HOST/NAME"
        )


def cpus_of_process(n: int) -> int:
    """CPUs of each of n processes if the file sets no threads: the cluster's divided by n, at most a whole node's."""
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    largest = max(nodes, default=1.0)
    return max(1, int(min(sum(nodes) / n, largest)))


def gpus_of_process(device: str) -> int:
    """GPUs of a process: 1 for `cuda` and `gpu`, or for `auto` if the cluster has any; else 0."""
    if device == "auto":
        return int(ray.cluster_resources().get("GPU", 0.0) > 0)
    return int(device in ("cuda", "gpu"))
