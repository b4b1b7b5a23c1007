"""SplitMix64 (Steele, Lea and Flood 2014): a hash of 64-bit integers; with a counter, random numbers.

`mix` takes arrays of numpy, and one number inside a compiled kernel (`coders.rows.mix_one`); `mix_signed` takes tensors
of torch. Exported models have their own version in `portable/hashing.py`, which needs Python alone.

Random numbers are a function of (seed, epoch, row id, stream, column): no state, no order, the same in any batch. The
key of a row is mixed from its names, and its column-th number is the mix of key + column * GAMMA.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment, odd: 2^64 divided by the golden ratio
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of the finaliser, both odd


class Integers(Protocol):
    """Signed 64-bit integers of any shape (n, ...) whose products wrap, as a tensor of torch."""

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
    """An unsigned 64-bit number as the signed integer with equal bits.

    >>> signed(2**64 - 1)
    -1
    """
    return value - 2**64 if value >= 2**63 else value


def shifted(x: Signed, bits: int) -> Signed:
    """Signed integers (n, ...) shifted to the right as if they were unsigned."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix_signed(x: Signed) -> Signed:
    """`mix` of signed integers (n, ...): equal bits, read as signed."""
    x = (x ^ shifted(x, 30)) * signed(FIRST_FACTOR)
    x = (x ^ shifted(x, 27)) * signed(SECOND_FACTOR)
    return x ^ shifted(x, 31)


def random_bits(seed: int, epoch: int, row_ids: NDArray[np.int64], length: int, stream: int) -> NDArray[np.uint64]:
    """64 random bits for each of the first `length` columns of each row: (B,) -> (B, length).

    A number depends on seed, epoch, its row's id, the stream and its column alone; `stream` separates uses.
    """
    key = np.zeros(1, dtype=np.uint64)
    for part in (seed, epoch, stream):
        key = mix(key + np.uint64(part % 2**64) + np.uint64(GAMMA))
    rows = mix(key + row_ids.astype(np.int64).view(np.uint64) + np.uint64(GAMMA))  # (B,)
    columns = np.arange(1, length + 1, dtype=np.uint64) * np.uint64(GAMMA)  # (L,)
    return mix(rows[:, None] + columns)  # (B, L)


def uniforms(seed: int, epoch: int, row_ids: NDArray[np.int64], length: int, stream: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) with 53 random bits: (B,) -> (B, length)."""
    return (random_bits(seed, epoch, row_ids, length, stream) >> np.uint64(11)) * np.float64(2.0**-53)


def integers(
    seed: int, epoch: int, row_ids: NDArray[np.int64], length: int, stream: int, *, below: int
) -> NDArray[np.int32]:
    """Integers 0 .. below - 1, equally likely to within below / 2^32: (B,) -> (B, length) int32."""
    high = random_bits(seed, epoch, row_ids, length, stream) >> np.uint64(32)
    # Lemire's multiply and shift.
    return ((high * np.uint64(below)) >> np.uint64(32)).astype(np.int32)


def drawn_share(
    eligible: NDArray[np.bool_], share: float, *, seed: int, epoch: int, row_ids: NDArray[np.int64], stream: int
) -> NDArray[np.bool_]:
    """A share of each row's eligible columns (B, L), drawn without replacement: (B, L).

    max(1, round(share n)) of the n columns of a row; none where none is eligible.
    """
    length = eligible.shape[1]
    keys = random_bits(seed, epoch, row_ids, length, stream) >> np.uint64(1)
    order = np.argsort(np.where(eligible, keys, np.uint64(2**64 - 1)), axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(length), eligible.shape), axis=1)
    wanted = np.maximum(1, np.rint(share * eligible.sum(axis=1)))
    return eligible & (places < wanted[:, None])
