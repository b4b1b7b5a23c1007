"""The executors by the name that an experiment file uses (key `executor`), known without the packages they need."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashbench.common.errors import InputError
from hashbench.common.registry import registered

if TYPE_CHECKING:  # this module is read with every experiment file; its classes are imported when a sweep begins
    from hashbench.data.corpora.preparing import ShardWorkers
    from hashbench.running.sweep.executors.base import Executor

SHARDS_HERE = "hashbench.data.corpora.preparing:LocalShardWorkers"


@dataclass(frozen=True)
class ExecutorSpec:
    """An executor by name, and where its classes are: "module:Class", imported when a sweep begins."""

    name: str
    executor: str  # a subclass of Executor
    shard_workers: str = SHARDS_HERE  # a class that tokenizes corpora
    elsewhere: bool = False  # True where runs may be done on other machines, whose devices this one does not know
    package: str = ""  # that it needs, also the name of hashbench's extra that installs it


EXECUTORS = [
    ExecutorSpec("local", "hashbench.running.sweep.executors.local:LocalExecutor"),
    ExecutorSpec(
        "ray",
        "hashbench.running.sweep.executors.on_ray:RayExecutor",
        "hashbench.running.sweep.executors.ray_shards:RayShardWorkers",
        elsewhere=True,
        package="ray",
    ),
]


def find_executor(name: str) -> type[Executor]:
    """The executor of this name. Raises InputError where its package is not installed."""
    spec: ExecutorSpec = registered("executor")[name]
    executor: type[Executor] = _imported(spec, spec.executor)
    return executor


def find_shard_workers(name: str) -> ShardWorkers:
    """The workers that tokenize corpora under an executor. Raises InputError where its package is not installed."""
    spec: ExecutorSpec = registered("executor")[name]
    workers: ShardWorkers = _imported(spec, spec.shard_workers)()
    return workers


def _imported(spec: ExecutorSpec, place: str) -> Any:
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != spec.package:
            raise
        remedy = f"pip install 'hashbench[{spec.package}]'"
        raise InputError(f"executor: {spec.name}: the package is not installed; {remedy}") from error
