"""SplitMix64's finaliser (Steele, Lea and Flood 2014): hashes 64-bit integers, and turns counters into random bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment, odd: 2^64 divided by the golden ratio
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of the finaliser, both odd


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser, element by element; a bijection of the 64-bit integers.

    >>> hex(int(mix(np.array([GAMMA], dtype=np.uint64))[0]))  # first output of SplitMix64 seeded with 0
    '0xe220a8397b1dcdaf'
    """
    z = (values ^ (values >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return z ^ (z >> np.uint64(31))
