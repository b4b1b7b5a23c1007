"""Kernels that numba compiles, the threads that they run in, and UTF-8 inside them.

A kernel is handed to numba when it is first called: a program that calls none does not wait for numba.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from hashbench.common.cache import mark, named_cache
from hashbench.common.process import wanted_threads

F = TypeVar("F", bound=Callable[..., object])
_handing_over = RLock()


class Kernel:
    """A function that becomes machine code when it is first called, with all kernels that it calls."""

    def __init__(self, function: FunctionType, **options: Any) -> None:
        """`options`: numba's."""
        self.function, self._options = function, options
        self._compiled: Callable[..., object] | None = None
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *arguments: object) -> object:
        return (self._compiled or self.compiled())(*arguments)

    def compiled(self) -> Callable[..., object]:
        """The function, compiled by numba, with the kernels that it names in its module."""
        with _handing_over:
            if self._compiled is None:
                import numba  # here: half a second that most commands need not wait

                names = self.function.__globals__
                for name in self.function.__code__.co_names:
                    if name in names and isinstance(names[name], Kernel):
                        names[name] = names[name].compiled()
                options = {"nogil": True, **self._options}
                try:
                    self._compiled = numba.njit(cache=True, **options)(self.function)
                except RuntimeError:  # neither the installation nor a home folder can be written
                    place = _own_cache()
                    vars(numba.config)["CACHE_DIR"] = place
                    self._compiled = numba.njit(cache=bool(place), **options)(self.function)
            return cast(Callable[..., object], self._compiled)


class Instruction(Kernel):
    """A piece of a kernel for which LLVM has its own code; the plain function where there is none."""

    def __init__(self, function: FunctionType, signature: Callable[..., Any], build: Callable[..., Any]) -> None:
        super().__init__(function, forceinline=True)
        self._signature, self._build = signature, build

    def compiled(self) -> Callable[..., object]:
        """Numba's intrinsic, or the plain function, compiled."""
        with _handing_over:
            if self._compiled is None:
                from numba import config, extending, types

                if vars(config)["DISABLE_JIT"]:
                    self._compiled = self.function
                elif sys.byteorder != "little":
                    return super().compiled()
                else:
                    self._compiled = extending.intrinsic(self._typing(types))
            return cast(Callable[..., object], self._compiled)

    def _typing(self, types: Any) -> Callable[..., object]:
        """The function by which numba finds the types of an intrinsic, and what writes its code."""

        def typing(context: Any, *arguments: Any) -> tuple[Any, Callable[..., Any]]:
            return self._signature(types, *arguments), self._build

        parameters = inspect.signature(self.function).parameters.values()
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        vars(typing)["__signature__"] = inspect.Signature([first, *plain])
        typing.__name__ = typing.__qualname__ = self.__name__
        typing.__module__ = self.__module__
        return typing


def _own_cache() -> str:
    """A folder for machine code below HASHBENCH_CACHE, "" where there is none that can be written."""
    cache = named_cache()
    if cache is None:
        return ""
    mark(cache)
    folder = cache / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def compiled(function: F) -> F:
    """A kernel that runs without the interpreter's lock and is compiled once per installation."""
    return cast(F, Kernel(cast(FunctionType, function)))


def inlined(function: F) -> F:
    """A piece of a kernel that is always compiled into its caller: passing arrays to it costs nothing then."""
    return cast(F, Kernel(cast(FunctionType, function), forceinline=True))


def instruction(signature: Callable[..., Any], build: Callable[..., Any]) -> Callable[[F], F]:
    """A function that is written out in its callers as LLVM's code for it.

    `signature`: from numba's `types` and the types of the arguments to the signature; `build`: what writes the code,
    from (context, builder, signature, values).
    """

    def declared(function: F) -> F:
        return cast(F, Instruction(cast(FunctionType, function), signature, build))

    return declared


def compiled_fast(function: F) -> F:
    """A kernel whose float operations may be reordered: only for results that are checked afterwards."""
    return cast(F, Kernel(cast(FunctionType, function), fastmath={"reassoc", "contract", "nnan", "nsz"}))


def thread_count() -> int:
    """Threads for kernels: HASHBENCH_THREADS, else the cores this process may use. Raises InputError for no number."""
    return wanted_threads() or usable_cores()


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slices(n: int, least: int = 4096, pieces_per_thread: int = 4) -> list[tuple[int, int]]:
    """`n` items cut into (start, stop): none smaller than `least`, several a thread, so that all end together."""
    pieces = max(min(n // least, thread_count() * pieces_per_thread), 1)
    return [(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]


def in_threads(function: Callable[[int, int], None], parts: Sequence[tuple[int, int]]) -> None:
    """Calls `function` for every part; kernels that release the lock run side by side. Errors are raised here."""
    if len(parts) <= 1 or thread_count() == 1:
        for part in parts:
            function(*part)
        return
    with ThreadPoolExecutor(thread_count()) as pool:
        for finished in [pool.submit(function, *part) for part in parts]:
            finished.result()


@inlined
def code_point(data: np.ndarray, at: int) -> tuple[int, int]:
    """The code point that begins at a byte of valid UTF-8 `data` (n,), and its width in bytes."""
    first = np.int64(data[at])
    if first < 0x80:
        return int(first), 1
    if first < 0xE0:
        return int(((first & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F)), 2
    point = (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)
    if first < 0xF0:
        return int(((first & 0x0F) << 12) | point), 3
    return int(((first & 0x07) << 18) | (point << 6) | (np.int64(data[at + 3]) & 0x3F)), 4


@compiled
def longest_string(offsets: np.ndarray, first: int) -> int:
    """Bytes of the longest of packed strings, `offsets` (n + 1,), from number `first` on; 0 where there is none."""
    longest = 0
    for t in range(first, len(offsets) - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    return longest


@compiled
def put(point: int, blob: np.ndarray, at: int) -> int:
    """Writes a code point to `blob` (n,) as UTF-8; returns its number of bytes."""
    if point < 0x80:
        blob[at] = point
        return 1
    if point < 0x800:
        blob[at] = 0xC0 | (point >> 6)
        blob[at + 1] = 0x80 | (point & 0x3F)
        return 2
    if point < 0x10000:
        blob[at] = 0xE0 | (point >> 12)
        blob[at + 1] = 0x80 | ((point >> 6) & 0x3F)
        blob[at + 2] = 0x80 | (point & 0x3F)
        return 3
    blob[at] = 0xF0 | (point >> 18)
    blob[at + 1] = 0x80 | ((point >> 12) & 0x3F)
    blob[at + 2] = 0x80 | ((point >> 6) & 0x3F)
    blob[at + 3] = 0x80 | (point & 0x3F)
    return 4
