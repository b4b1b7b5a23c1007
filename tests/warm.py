"""Workers of sweeps that tests run in their own process, forked from a process that has imported what they need.

A worker of its own imports Lightning first, which takes longer than to train a small experiment. tests/running/sweep/
test_runner.py and tests/running/sweep/executors/test_local.py have workers as users have them.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection

import pytest

from hashbench.running.sweep.executors import local

IMPORTED = (
    "lightning.pytorch", "hashbench.running.sweep.worker", "hashbench.running.training.entities",
    "hashbench.running.training.finetuning", "hashbench.running.training.pretraining",
)  # fmt: skip
WORK = local.work


@contextmanager
def warm_workers() -> Iterator[None]:
    """Within the block this process's sweeps fork their workers from one process, which it starts once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*IMPORTED])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "SPAWNING", _Warm(context))
        yield


class _Warm:
    """The context of a process that gives each worker the environment and folder in which the sweep began."""

    def __init__(self, context: multiprocessing.context.ForkServerContext) -> None:
        self.Pipe = context.Pipe
        self._context = context

    def Process(self, *, target, args, name):  # noqa: N802, as multiprocessing calls it
        assert target is WORK
        begun = partial(_work, dict(os.environ), os.getcwd())
        return self._context.Process(target=begun, args=args, name=name)


def _work(environment: dict[str, str], folder: str, packed: str, index: int, pipe: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    WORK(packed, index, pipe)
