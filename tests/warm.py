"""Workers of sweeps that tests run in their own process, forked from a process that has imported what they need.

A worker of its own imports Lightning first, which takes longer than to train a small experiment. tests/running/sweep/
test_runner.py and tests/running/sweep/test_local.py have workers as users have them.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from subprocess import TimeoutExpired

import pytest

from hashbench.running.sweep import local

IMPORTED = (
    "lightning.pytorch", "hashbench.running.sweep.worker", "hashbench.running.training.entities",
    "hashbench.running.training.finetuning", "hashbench.running.training.pretraining",
)  # fmt: skip


@contextmanager
def warm_workers() -> Iterator[None]:
    """Within the block this process's sweeps fork their workers from one process, which it starts once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*IMPORTED])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "start_process", lambda command, more: Forked(context, command, more))
        yield


class Forked:
    """What a sweep needs of a `subprocess.Popen`, of a worker that is forked, in the folder where the sweep began."""

    def __init__(
        self, context: multiprocessing.context.ForkServerContext, command: Sequence[str], more: dict[str, str]
    ) -> None:
        heard, said = context.Pipe(duplex=False), context.Pipe(duplex=False)
        inherited = (heard[0], said[1])
        arguments = ({**os.environ, **more}, os.getcwd(), inherited, command[-3:])
        self._process = context.Process(target=_work, args=arguments)
        self._process.start()
        self.pid = self._process.pid
        self.stdin, self.stdout = (
            os.fdopen(os.dup(end.fileno()), mode) for end, mode in ((heard[1], "wb"), (said[0], "rb"))
        )
        for end in (*heard, *said):
            end.close()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutExpired("worker", timeout)
        return self._process.exitcode


def _work(
    environment: dict[str, str], folder: str, inherited: tuple[Connection, Connection], arguments: Sequence[str]
) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, end in enumerate(inherited):
        os.dup2(end.fileno(), number)
        end.close()
    from hashbench.running.sweep.worker import work

    work(*arguments)
