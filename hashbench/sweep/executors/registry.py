"""The executors by the word that an experiment file names them with."""

from __future__ import annotations

from hashbench.sweep.executors.base import Executor
from hashbench.sweep.executors.local import LocalExecutor

EXECUTORS: dict[str, type[Executor]] = {"local": LocalExecutor}
