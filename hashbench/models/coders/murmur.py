"""MurmurHash (Austin Appleby, public domain) of byte strings and of 64-bit numbers, as compiled functions.

Two functions of one name: MurmurHash64A, 64 bits, by which spaCy numbers strings; and MurmurHash3 x64, 128 bits, by
which spaCy and floret choose rows.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined

# All are Appleby's. m and r of MurmurHash64A:
A_FACTOR, A_SHIFT = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
# MurmurHash3 x64 128: the factors of its two halves and of its finaliser, and what each round adds.
FIRST_64, SECOND_64 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
MIX_A, MIX_B = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
ADD_A, ADD_B = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
# The lower 32 bits of 64.
LOW = np.uint64(0xFFFFFFFF)


@inlined
def little(data: np.ndarray, start: int, n: int) -> np.uint64:
    """`n` bytes, at most 8, of `data` (b,) as a little-endian number."""
    value = np.uint64(0)
    for i in range(n):
        value |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return value


@compiled
def murmur64a(data: np.ndarray, start: int, stop: int, seed: int) -> np.uint64:
    """MurmurHash64A of the bytes start..stop of `data` (b,)."""
    h = np.uint64(seed) ^ (np.uint64(stop - start) * A_FACTOR)
    while stop - start >= 8:
        k = little(data, start, 8) * A_FACTOR
        k = (k ^ (k >> A_SHIFT)) * A_FACTOR
        h = (h ^ k) * A_FACTOR
        start += 8
    if stop > start:
        h = (h ^ little(data, start, stop - start)) * A_FACTOR
    h = (h ^ (h >> A_SHIFT)) * A_FACTOR
    return h ^ (h >> A_SHIFT)


@inlined
def turned(x: np.uint64, bits: int) -> np.uint64:
    """A 64-bit number with its bits rotated to the left."""
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inlined
def finalised(k: np.uint64) -> np.uint64:
    """MurmurHash3's finaliser of a 64-bit number."""
    k = (k ^ (k >> np.uint64(33))) * MIX_A
    k = (k ^ (k >> np.uint64(33))) * MIX_B
    return k ^ (k >> np.uint64(33))


@compiled
def murmur3(data: np.ndarray, start: int, stop: int, seed: int) -> tuple[np.uint64, np.uint64]:
    """MurmurHash3_x64_128 of the bytes start..stop of `data` (b,): its two halves."""
    n = stop - start
    h1, h2 = np.uint64(seed), np.uint64(seed)
    while stop - start >= 16:
        h1 ^= turned(little(data, start, 8) * FIRST_64, 31) * SECOND_64
        h1 = (turned(h1, 27) + h2) * np.uint64(5) + ADD_A
        h2 ^= turned(little(data, start + 8, 8) * SECOND_64, 33) * FIRST_64
        h2 = (turned(h2, 31) + h1) * np.uint64(5) + ADD_B
        start += 16
    rest = stop - start
    if rest > 8:
        h2 ^= turned(little(data, start + 8, rest - 8) * SECOND_64, 33) * FIRST_64
    if rest > 0:
        h1 ^= turned(little(data, start, min(rest, 8)) * FIRST_64, 31) * SECOND_64
    return _mixed(h1 ^ np.uint64(n), h2 ^ np.uint64(n))


@inlined
def _mixed(h1: np.uint64, h2: np.uint64) -> tuple[np.uint64, np.uint64]:
    h1 += h2
    h2 += h1
    h1, h2 = finalised(h1), finalised(h2)
    h1 += h2
    h2 += h1
    return h1, h2


@inlined
def quarter(h1: np.uint64, h2: np.uint64, i: int) -> np.uint64:
    """The i-th of four 32-bit parts of a hash: low and high of the first half `h1`, then of the second, `h2`."""
    half = np.uint64(h1) if i < 2 else np.uint64(h2)
    return half >> np.uint64(32) if i & 1 else half & LOW
