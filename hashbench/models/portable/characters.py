"""Characters and bytes: every code point, or every byte of UTF-8, is a token, and its code its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import without_lone_surrogates


def characters(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its characters."""
    return lambda text: list(without_lone_surrogates(text))


def codepoints(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a character to its code point; another string has the one of `values`."""
    return lambda token: [ord(token) if len(token) == 1 else values["other"]]


def text_bytes(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its bytes, byte b as the character U+00b."""
    return lambda text: list(without_lone_surrogates(text).encode().decode("latin-1"))


def byte_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a byte to its row; another string has the row of what is unknown."""
    first, unknown = values["first_row"], values["unknown_row"]
    return lambda token: [first + ord(token) if len(token) == 1 and ord(token) < 256 else unknown]
