"""Workers on a Ray cluster: one actor each, which starts the worker's process where Ray has room for it.

Ray places workers and says within seconds that one is gone. It repeats nothing: which run is done again is decided by
the store, whose leases hold whatever Ray believes.

Corpus shards are tasks of one CPU. Their files come back through Ray and are laid down where the preparation goes on,
so nodes share no folder; what they read must have the same path on each of them, or come from the hub. A shard whose
node dies is done again by Ray: it is the same wherever it is made.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from hashbench.common.errors import InputError
from hashbench.common.shared import make_once
from hashbench.common.showing import whole_number
from hashbench.data.corpora.tokenizing import (
    ShardFacts,
    ShardFiles,
    ShardJob,
    TokenizedShard,
    files_of_shard,
    make_shard,
)
from hashbench.running.sweep.assignment import Assignment, pack
from hashbench.running.sweep.executors import Executor
from hashbench.running.sweep.local import WorkerProcess, assignment_file, taken, worker_command
from hashbench.running.sweep.progress import Event, WorkerEnded, WorkerStarted

WAIT_S = 5.0  # that an actor waits for an event before it answers that there is none
REACH_SECONDS = 10.0  # for a cluster's address to answer
LATE_S = 60.0  # after which a sweep says that workers have not started yet
STORE_BYTES = 128 * 2**20  # of a cluster of our own: nothing large goes through its object store
AHEAD = 2  # shards under way for each CPU: one is tokenized, one waits
TRIES = 3  # of a shard whose node dies


class PlacedWorker:
    """An actor that starts a worker on its node; its methods run concurrently. Its end is the worker's end."""

    def __init__(self, packed: bytes, worker: int, hang_s: float | None) -> None:
        self._file = assignment_file(packed)
        self._said: queue.SimpleQueue[Event] = queue.SimpleQueue()
        cluster = {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}  # for runs on several devices
        command = worker_command(self._file.name, worker)
        self._worker = WorkerProcess(command, worker, hang_s, self._said.put, environment=cluster)

    def events(self, wait_s: float) -> list[Event]:
        """The reports of the worker since the last call; waits up to `wait_s` seconds for the first."""
        return taken(self._said, wait_s)

    def stop(self) -> None:
        """Requests the worker to stop at its next step."""
        self._worker.stop()

    def kill(self) -> None:
        """Kills the worker with all that it started."""
        self._worker.kill()


class RayExecutor(Executor):
    """An executor whose workers are on the nodes of a Ray cluster."""

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        super().__init__(assignment, n_workers)
        connect()
        experiment = assignment.resolved.experiment
        refuse_file_for_machines(assignment.db)
        cpus = experiment.threads or cpus_of_process(n_workers * experiment.all_devices)
        self._needs = {"CPU": cpus, "GPU": gpus_of_process(experiment.device)}
        self._alone = experiment.all_devices == 1
        process = None if self._alone else self._needs
        there = replace(assignment.for_elsewhere(), threads=cpus, process=process)
        self._packed, self._hang_s = pack(there), there.resolved.experiment.hang_s
        self._actors: dict[int, Any] = {}
        self._answers: dict[Any, int] = {}  # that are awaited, by the number of their worker
        self._started: set[int] = set()
        self._late_at = time.monotonic() + LATE_S
        room = ray.cluster_resources()
        for kind, number in self._needs.items():
            present, wanted = int(room.get(kind, 0.0)), n_workers * experiment.all_devices * number
            if wanted > present:
                print(f"Ray has {present} {kind}s, {wanted} are asked for; some runs wait", file=sys.stderr)

    @classmethod
    def shard_workers(cls) -> RayShardWorkers:
        return RayShardWorkers()

    def start(self, worker: int) -> None:
        actor: Any = ray.remote(PlacedWorker).options(
            # One that starts other processes takes nothing itself: else they would wait for it, and it for them.
            num_cpus=self._needs["CPU"] if self._alone else 0,
            num_gpus=self._needs["GPU"] if self._alone else 0,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=4,
            scheduling_strategy="SPREAD",
        )
        self._actors[worker] = actor.remote(self._packed, worker, self._hang_s)
        self._ask(worker)

    def events(self, wait_s: float) -> list[Event]:
        self._say_if_late()
        if not self._answers:
            time.sleep(wait_s)
            return []
        with signals_as_raised():
            ready, _ = ray.wait(list(self._answers), timeout=wait_s)
            return [event for answer in ready for event in self._answered(answer)]

    def stop(self) -> None:
        with contextlib.suppress(RayActorError), signals_as_raised():
            for actor in self._actors.values():
                actor.stop.remote()

    def kill(self) -> None:
        with contextlib.suppress(RayError), signals_as_raised():
            started = [self._actors[worker].kill.remote() for worker in self._started]
            ray.wait(started, num_returns=len(started), timeout=WAIT_S) if started else None
        for actor in self._actors.values():
            ray.kill(actor)

    def _ask(self, worker: int) -> None:
        self._answers[self._actors[worker].events.remote(WAIT_S)] = worker

    def _answered(self, answer: Any) -> list[Event]:
        """The events that an actor sends, and its next answer awaited; the end of its worker where it is gone."""
        worker = self._answers.pop(answer)
        try:
            events: list[Event] = ray.get(answer)
        except RayError as error:  # a node or a process that died, or what was raised there
            how = f"worker {worker} on Ray ended: {type(error).__name__}: {first_words(error)}"
            return [WorkerEnded(worker, how, is_try=False)]
        self._started |= {event.worker for event in events if isinstance(event, WorkerStarted)}
        if any(isinstance(event, WorkerEnded) for event in events):
            ray.kill(self._actors[worker])
        else:
            self._ask(worker)
        return events

    def _say_if_late(self) -> None:
        """Prints one line if workers have not started after LATE_S, for want of room or on a busy machine."""
        if time.monotonic() < self._late_at:
            return
        self._late_at = math.inf
        if waiting := self.n_workers - len(self._started):
            free, room = (of.get("CPU", 0.0) for of in (ray.available_resources(), ray.cluster_resources()))
            print(
                f"{waiting} of {self.n_workers} workers have not started on Ray after {LATE_S:g} s; {free:g} "
                f"of its {room:g} CPUs are free (others may hold them; on a busy machine set RAY_worker_niceness=0)",
                file=sys.stderr,
            )


class RayShardWorkers:
    """Tokenizes corpus shards on the CPUs of all nodes of a Ray cluster."""

    def tokenize(
        self, jobs: Sequence[tuple[ShardJob, Path]], done: Callable[[ShardFacts], None]
    ) -> Iterator[tuple[int, ShardFacts]]:
        """Yields the number of each job and the facts on its shard, as soon as its folder is written here.

        Raises InputError for a shard that cannot be read on its node, and where the cluster is lost.
        """
        for number, (job, folder) in enumerate(jobs):
            if folder.exists():
                yield number, make_shard(job, folder)
        waiting = [number for number, (_, folder) in enumerate(jobs) if not folder.exists()]
        if not waiting:
            return
        connect()
        task = ray.remote(files_of_shard).options(num_cpus=1, max_retries=TRIES, scheduling_strategy="SPREAD")
        under_way: dict[Any, int] = {}
        most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1.0)))
        while waiting or under_way:
            while waiting and len(under_way) < most:
                number = waiting.pop(0)
                under_way[task.remote(jobs[number][0])] = number
            with signals_as_raised():
                ready, _ = ray.wait(list(under_way))
            for answer in ready:
                number = under_way.pop(answer)
                yield number, _laid_down(answer, jobs[number][1])


def _laid_down(answer: Any, folder: Path) -> ShardFacts:
    """Writes the shard that a node sent; returns the facts on it. Raises InputError for what went wrong there."""
    try:
        files: ShardFiles = ray.get(answer)
    except RayError as error:
        if isinstance(error, RayTaskError) and isinstance(error.cause, InputError):
            raise error.cause from None
        what = f"{type(error).__name__}: {first_words(error)}"
        remedy = "start it again, it goes on behind the finished ones"
        raise InputError(f"a shard was lost on Ray ({what}); {remedy}") from error

    def build(part: Path) -> None:
        for name, content in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)

    return TokenizedShard(make_once(folder, build)).facts


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
