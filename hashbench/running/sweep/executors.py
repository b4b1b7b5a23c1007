"""Executors: where the workers of a sweep are. One starts a worker, hands on what it reports, and ends it.

Which run is done by whom, and what is tried again, the store alone decides; a sweep starts a worker again that ended
badly. This module is read with every experiment file: classes are imported when a sweep begins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.common.errors import located
from hashbench.common.extras import required
from hashbench.common.registry import registered

if TYPE_CHECKING:
    from hashbench.data.corpora.preparing import ShardWorkers
    from hashbench.running.sweep.assignment import Assignment
    from hashbench.running.sweep.progress import Event


@dataclass(frozen=True)
class ExecutorSpec:
    """An executor by name, and where its class is: "module:Class", imported when a sweep begins."""

    name: str
    executor: str  # a subclass of Executor
    elsewhere: bool = False  # True where runs may be done on other machines, whose devices this one does not know
    joins_nodes: bool = False  # True where one run may be on several machines


EXECUTORS = [
    ExecutorSpec("local", "hashbench.running.sweep.local:LocalExecutor"),
    ExecutorSpec("ray", "hashbench.running.sweep.on_ray:RayExecutor", elsewhere=True, joins_nodes=True),
    ExecutorSpec("slurm", "hashbench.running.sweep.on_slurm:SlurmExecutor", elsewhere=True),
]


class Executor(ABC):
    """Starts and ends the workers of one assignment, which it numbers from 0; each phase of a sweep has a new one.

    `LocalExecutor` has all of this for workers that a command starts: a subclass with another `command`, such as one
    behind `srun` or `ssh`, is a whole executor.
    """

    def __init__(self, assignment: Assignment, n_workers: int) -> None:
        self.assignment, self.n_workers = assignment, n_workers

    @classmethod
    def shard_workers(cls) -> ShardWorkers | None:
        """Who tokenizes the shards of corpora; None: the cores of this machine."""
        return None

    @classmethod
    def check(cls, db: str, *, stays: bool) -> None:
        """Raises InputError where a sweep into this database cannot begin here; called before anything is planned.

        `stays`: the sweep has an option for which it must stay until the end.
        """
        return None

    @classmethod
    def submit(cls, assignment: Assignment, n_workers: int) -> str:
        """Hands all workers to a system that carries them out without this sweep; returns its message.

        "": the sweep starts the workers itself and stays until they are done.
        """
        return ""

    @abstractmethod
    def start(self, worker: int) -> None:
        """Starts the worker of a number, in the place of one that has ended."""

    @abstractmethod
    def events(self, wait_s: float) -> Sequence[Event]:
        """The reports of workers since the last call, `WorkerEnded` as the last of each.

        Waits up to `wait_s` seconds for the first.
        """

    @abstractmethod
    def stop(self) -> None:
        """Requests all workers to stop at their next step."""

    @abstractmethod
    def kill(self) -> None:
        """Ends all workers that still live, and removes what the executor has left."""


def find_executor(name: str) -> type[Executor]:
    """The executor of this name. Raises InputError where its package is not installed."""
    spec: ExecutorSpec = registered("executor")[name]
    module, _, kind = spec.executor.partition(":")
    with located(f"executor: {spec.name}"):
        executor: type[Executor] = getattr(required(module), kind)
    return executor
