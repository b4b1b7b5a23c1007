"""A call with another one in the middle of it, at each place where a second thread could come in. Without threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def at_each_step(
    fresh: Callable[[], tuple[Callable[[], T], Callable[[], object]]],
    within: str,
    waits: Callable[[], bool] | None = None,
) -> Iterator[T]:
    """The result of a call with another one before its 1st, 2nd, ... bytecode, once for each of them.

    `fresh` makes both calls anew. `within`: the end of the file's name whose code is interrupted. `waits`: whether the
    other one would wait now, for a lock that the call holds; then it does not come in there.
    """
    step = 0
    while True:
        call, other = fresh()
        passed = 0

        def trace(frame: FrameType, event: str, _: Any, step: int = step, other: Callable[[], object] = other) -> Any:
            nonlocal passed
            if not frame.f_code.co_filename.endswith(within):
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                passed += 1
                if passed == step + 1 and not (waits is not None and waits()):
                    other()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            result = call()
        finally:
            sys.settrace(before)
        if passed <= step:
            return
        yield result
        step += 1
