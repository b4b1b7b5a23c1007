"""SplitMix64's finaliser (Steele, Lea and Flood 2014): hashes 64-bit integers, and turns counters into random bits.

`mix` takes arrays of numpy, and one number inside a compiled kernel (`coders.keys.mix_one`); `mix_signed` takes tensors
of torch. Exported models have a spelling of their own, in `portable/splitmix.py`, that needs Python alone.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment, odd: 2^64 divided by the golden ratio
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of the finaliser, both odd


class Integers(Protocol):
    """Integers of 64 bits with a sign, of any shape (n, ...), whose products wrap: a tensor of torch."""

    def __xor__(self, other: Self, /) -> Self: ...

    def __and__(self, other: int, /) -> Self: ...

    def __rshift__(self, bits: int, /) -> Self: ...

    def __mul__(self, factor: int, /) -> Self: ...


Signed = TypeVar("Signed", bound=Integers)


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser, element by element; a bijection of the 64-bit integers.

    >>> hex(int(mix(np.array([GAMMA], dtype=np.uint64))[0]))  # first output of SplitMix64 seeded with 0
    '0xe220a8397b1dcdaf'
    """
    z = (values ^ (values >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return z ^ (z >> np.uint64(31))


def signed(value: int) -> int:
    """A number of 64 bits as an integer with a sign has it.

    >>> signed(2**64 - 1)
    -1
    """
    return value - 2**64 if value >= 2**63 else value


def shifted(x: Signed, bits: int) -> Signed:
    """Integers (n, ...) shifted to the right as if they had no sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix_signed(x: Signed) -> Signed:
    """`mix` of integers with a sign (n, ...): the same bits."""
    x = (x ^ shifted(x, 30)) * signed(FIRST_FACTOR)
    x = (x ^ shifted(x, 27)) * signed(SECOND_FACTOR)
    return x ^ shifted(x, 31)
