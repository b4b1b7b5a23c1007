"""The executors by the word that an experiment file names them with."""

from __future__ import annotations

import importlib

from hashbench.errors import InputError
from hashbench.sweep.executors.base import Executor
from hashbench.sweep.executors.local import LocalExecutor

# By word: module and class. A module is imported when it is asked for, since each needs a package of its own.
ELSEWHERE = {"ray": ("hashbench.sweep.executors.on_ray", "RayExecutor")}


def find_executor(name: str) -> type[Executor]:
    """The executor of this word. Raises InputError where its package is not installed."""
    if name not in ELSEWHERE:
        return LocalExecutor
    module, its_class = ELSEWHERE[name]
    try:
        found: type[Executor] = getattr(importlib.import_module(module), its_class)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(f"executor: {name}: the package is not installed; pip install 'hashbench[{name}]'") from error
    return found
