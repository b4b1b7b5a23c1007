"""Rows of the bytes of a word by their positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def byte_positions(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the row of each byte that is kept, -1 behind the last."""
    positions, ends = values["positions"], values["ends"]
    last = positions // 2 if ends else 0  # bytes that are kept of the end of a longer word

    def encode(token: str) -> list[int]:
        data = token.encode()
        if len(data) > positions:
            start = data[: positions - last].decode(errors="ignore").encode()
            data = start + data[len(data) - last :].decode(errors="ignore").encode()
        rows = [byte * positions + place for place, byte in enumerate(data)]
        return rows + [-1] * (positions - len(rows))

    return encode
