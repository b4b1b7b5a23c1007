"""SplitMix64 and what is hashed by it, in plain Python integers."""

from __future__ import annotations

import hashlib

WORD = 2**64


def mix(z: int) -> int:
    """The finaliser."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def key(word: str) -> int:
    """The first eight bytes of the MD5, little-endian."""
    return int.from_bytes(hashlib.md5(word.encode()).digest()[:8], "little")


def hashed(x: int, i: int) -> int:
    """The i-th hash, counted from 0."""
    return mix((x + (i + 1) * 0x9E3779B97F4A7C15) % WORD)
