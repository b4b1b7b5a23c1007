"""SplitMix64, whose finaliser makes hashes of 64-bit numbers."""

from __future__ import annotations

ALL_64 = 2**64 - 1
GAMMA_64, MIX_FIRST, MIX_SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix64(z: int) -> int:
    """SplitMix64's finaliser."""
    z = ((z ^ (z >> 30)) * MIX_FIRST) & ALL_64
    z = ((z ^ (z >> 27)) * MIX_SECOND) & ALL_64
    return z ^ (z >> 31)
