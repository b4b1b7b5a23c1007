"""Subpackages that can be called: Python puts one in the place of a function of its name."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


def make_callable(room: str, module: str) -> None:
    """Lets a subpackage be called as the function of its own name in `module`, which is imported on the first call."""
    function = room.rpartition(".")[2]

    class CallableRoom(ModuleType):
        """The subpackage, and the function beside it."""

        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(module), function)(*arguments, **named)

    sys.modules[room].__class__ = CallableRoom
