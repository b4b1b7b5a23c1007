"""Kernels that numba compiles, and the threads that they run in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """A kernel that runs without the interpreter's lock and is compiled once per installation."""
    return cast(F, numba.njit(nogil=True, cache=True)(function))


def inlined(function: F) -> F:
    """A piece of a kernel that is always compiled into its caller: passing arrays to it costs nothing then."""
    return cast(F, numba.njit(nogil=True, cache=True, forceinline=True)(function))


def compiled_fast(function: F) -> F:
    """A kernel whose float operations may be reordered: only for results that are checked afterwards."""
    return cast(F, numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nnan", "nsz"})(function))


def thread_count() -> int:
    """Threads for kernels: HASHBENCH_THREADS, else the cores this process may use."""
    asked = os.environ.get("HASHBENCH_THREADS")
    if asked:
        return max(int(asked), 1)
    return usable_cores()


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slices(n: int, least: int = 4096, pieces_per_thread: int = 4) -> list[tuple[int, int]]:
    """`n` items cut into (start, stop): none smaller than `least`, several a thread, so that all end together."""
    pieces = max(min(n // least, thread_count() * pieces_per_thread), 1)
    return [(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]


def in_threads(function: Callable[[int, int], None], parts: Sequence[tuple[int, int]]) -> None:
    """Call `function` for every part; kernels that release the lock run side by side. Errors are raised here."""
    if len(parts) <= 1 or thread_count() == 1:
        for part in parts:
            function(*part)
        return
    with ThreadPoolExecutor(thread_count()) as pool:
        for finished in [pool.submit(function, *part) for part in parts]:
            finished.result()
