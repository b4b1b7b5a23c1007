"""Calls of a function in several processes of this machine, which end with their parent, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from hashbench.common.errors import InputError
from hashbench.common.progress import progress
from hashbench.common.spawning import SPAWNING

CallResult = TypeVar("CallResult")
# Each process is one of as many as there are cores; kernels, Arrow and the tokenizers' library read these
ONE_THREAD = {"HASHBENCH_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def call_each(
    function: Callable[..., CallResult], jobs: Sequence[tuple[Any, ...]], *, workers: int, remedy: str
) -> Iterator[tuple[int, CallResult]]:
    """The number of each job (the arguments of one call) and its result, in the order in which calls end.

    One worker or one job: calls in this process, in order. `remedy`: what to do where a process was killed.

    Raises:
        InputError: of a call, or since a process was killed. No call goes on then.
    """
    # Processes of a daemon cannot start any
    if min(workers, len(jobs)) <= 1 or multiprocessing.current_process().daemon:
        for number, job in enumerate(jobs):
            yield number, function(*job)
            progress("preparing data", step=False)
        return
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=SPAWNING, initializer=begin_worker) as pool:
        futures = {pool.submit(function, *job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                progress("preparing data", step=False)
                yield futures.pop(future), future.result()
        except BaseException as error:
            for child in multiprocessing.active_children():  # a call takes minutes
                if child not in others:
                    child.terminate()
            if isinstance(error, BrokenProcessPool):
                raise InputError(f"a worker was killed, perhaps for memory; {remedy}") from error
            raise


def begin_worker() -> None:
    """Prepares a worker process, which uses one thread, ignores Ctrl-C and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ |= ONE_THREAD
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
