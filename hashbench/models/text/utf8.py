"""Reading and writing UTF-8 inside compiled kernels."""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined


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
