"""What a tokenizer or coder says of itself so that a device can do the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PortablePart:
    """One step of a text side. `source`.py and `source`.js of this folder each have the function `entry`, which gets
    `values` and a function that reads one of `files`, and gives the step: from a text to tokens, or from a token to
    its code, a list of numbers."""

    source: str
    entry: str  # as Python spells it; JavaScript has it in camel case
    values: Mapping[str, Any]  # plain JSON
    files: Mapping[str, bytes] = field(default_factory=dict)  # tables that were fitted, by the names they ship under
    needs: tuple[str, ...] = ()  # further sources that the source calls
