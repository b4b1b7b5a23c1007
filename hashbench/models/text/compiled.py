"""Kernels that numba compiles, and the threads that they run in.

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

from hashbench.common.allocator import wanted_threads
from hashbench.common.cache import mark, named_cache

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
