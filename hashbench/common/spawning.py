"""Processes that this program starts: each begins from nothing and knows nothing of the user's script.

`multiprocessing` would run the main module of the program again in every process that it starts: a script without
`if __name__ == "__main__":` would begin its sweep again there, and one from standard input cannot be found. What is
sent to these processes names modules of this package alone, so the main module is hidden while one starts.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType

from hashbench.common.errors import InputError
from hashbench.common.own_files import is_importing
from hashbench.common.process import outlive_readers

MAIN = "__main__"
_starting = threading.RLock()


class Spawned(SpawnProcess):
    """A process that does not import the main module of the program, and outlives the readers of its output."""

    def start(self) -> None:
        """Starts the process."""
        with _without_main():
            super().start()

    def run(self) -> None:
        """Does its work, in the new process."""
        outlive_readers()
        super().run()


class Spawning(SpawnContext):
    """A context of `multiprocessing` whose processes are `Spawned`: a fork would carry threads and memory along."""

    Process = Spawned


SPAWNING = Spawning()


@contextmanager
def _without_main() -> Iterator[None]:
    """An empty module in place of the main one, so that nothing is imported in its place."""
    with _starting:
        main = sys.modules[MAIN]
        sys.modules[MAIN] = ModuleType(MAIN)
        try:
            yield
        finally:
            sys.modules[MAIN] = main


def refuse_no_start(what: str) -> None:
    """Raises InputError where this process can start no others; `what` needs them."""
    process = multiprocessing.current_process()
    # In a file that an experiment names for its classes; in a script that runs again in a process which it started
    if is_importing() or getattr(process, "_inheriting", False):
        raise InputError(
            f'{what}: called while its file is only imported; put the call below if __name__ == "__main__":'
        )
    if process.daemon:
        raise InputError(f"{what}: called in a worker of a pool, which cannot start processes; call it outside")
