"""Characters: every code point of a text is a token, and its own code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.portable.letters import without_lone_surrogates


def characters(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its characters."""
    return lambda text: list(without_lone_surrogates(text))


def codepoints(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a character to its code point; another string has the one of `values`."""
    return lambda token: [ord(token) if len(token) == 1 else values["other"]]
