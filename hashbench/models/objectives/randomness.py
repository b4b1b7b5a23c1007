"""Random numbers that are a function of (seed, epoch, row id, stream, column): no state, no order, any batch.

SplitMix64 (Steele, Lea and Flood 2014) used as a counter-based generator: the key of a row is mixed from its names, and
its column-th number is the mix of key + column * GAMMA.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hashbench.common.splitmix import GAMMA, mix


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
