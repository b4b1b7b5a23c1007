"""The executors by the name that an experiment file uses (key `executor`)."""

from __future__ import annotations

import importlib
from typing import Any

from hashbench.common.errors import InputError
from hashbench.data.corpora.preparing import LocalShardWorkers, ShardWorkers
from hashbench.running.sweep.executors.base import Executor
from hashbench.running.sweep.executors.local import LocalExecutor

# By word: module and class. A module is imported when it is needed, since each needs another package.
ELSEWHERE = {"ray": ("hashbench.running.sweep.executors.on_ray", "RayExecutor")}
SHARDS_ELSEWHERE = {"ray": ("hashbench.running.sweep.executors.ray_shards", "RayShardWorkers")}


def find_executor(name: str) -> type[Executor]:
    """The executor of this name. Raises InputError where its package is not installed."""
    if name not in ELSEWHERE:
        return LocalExecutor
    executor: type[Executor] = _imported(name, *ELSEWHERE[name])
    return executor


def find_shard_workers(name: str) -> ShardWorkers:
    """The workers that tokenize corpora under an executor. Raises InputError where its package is not installed."""
    if name not in SHARDS_ELSEWHERE:
        return LocalShardWorkers()
    workers: ShardWorkers = _imported(name, *SHARDS_ELSEWHERE[name])()
    return workers


def _imported(name: str, module: str, what: str) -> Any:
    try:
        return getattr(importlib.import_module(module), what)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(f"executor: {name}: the package is not installed; pip install 'hashbench[{name}]'") from error
