"""The sums of hashed hyperplanes over character n-grams, in one compiled loop over UTF-8.

Sides come 64 in a number. They are counted without unpacking: `planes[k]` holds bit k of 64 counters, and a number is
added to all 64 by carrying, which touches two planes on average.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.keys import STEP, mix_one
from hashbench.models.coders.md5_kernel import START, finish_message
from hashbench.models.text.compiled import compiled
from hashbench.models.text.scan import longest_string

LONGEST = 5  # characters of an n-gram: the paper, section 3
# Of counters below 4,096; a word of 256 characters has 1,534 features.
PLANES = 12
# An n-gram is hashed as n:cat, a pair of characters one apart as s:ct.
KIND_N, KIND_S, COLON = np.uint8(ord("n")), np.uint8(ord("s")), np.uint8(ord(":"))
MESSAGE_BYTES = 2 + 4 * LONGEST  # the longest feature: MD5 sees one block


@compiled
def fingerprint_of(message: np.ndarray, n: int, state: np.ndarray, words: np.ndarray) -> np.uint64:
    """The first eight bytes of the MD5 of the first n of `message` (m,), little-endian; the other two are scratch."""
    state[:] = START
    finish_message(message, 0, n, 0, state, words)
    return np.uint64(state[0]) | (np.uint64(state[1]) << np.uint64(32))


@compiled
def count_sides(fingerprint: np.uint64, planes: np.ndarray) -> None:
    """Add the sides of one feature to the counters (PLANES, numbers)."""
    value = fingerprint
    for block in range(planes.shape[1]):
        value += STEP
        carry, plane = mix_one(value), 0  # type: ignore[arg-type]  # numba takes a number for the array
        while carry != 0:
            both = planes[plane, block] & carry
            planes[plane, block] ^= carry
            carry = both
            plane += 1


@compiled
def read_counters(planes: np.ndarray, n_features: int, sums: np.ndarray) -> None:
    """Counters (PLANES, places * blocks) -> sums (places, T) int16: as many +1 as counted, the rest -1."""
    places, n_bits = sums.shape
    blocks = planes.shape[1] // places
    used = 0
    while (n_features >> used) > 0:
        used += 1
    for place in range(places):
        for j in range(n_bits):
            block, shift = place * blocks + (j >> 6), np.uint64(j & 63)
            ones = 0
            for plane in range(used):
                ones |= int((planes[plane, block] >> shift) & np.uint64(1)) << plane
            sums[place, j] = 2 * ones - n_features


@compiled
def characters(blob: np.ndarray, start: int, stop: int, starts: np.ndarray) -> int:
    """Where each character of a UTF-8 string in `blob` (b,) begins, and its end, into `starts` (n,); their number."""
    n = 0
    for at in range(start, stop):
        if blob[at] & np.uint8(0xC0) != 0x80:  # no byte within a character
            starts[n] = at
            n += 1
    starts[n] = stop
    return n


@compiled
def project(blob: np.ndarray, offsets: np.ndarray, flip: np.uint64, n_bits: int, places: int) -> np.ndarray:
    """Packed words, each between its markers -> sums int16 (n, places * T). Fingerprints are xor-ed with `flip`."""
    n_types = len(offsets) - 1
    starts = np.empty(longest_string(offsets, 0) + 1, dtype=np.int64)
    message = np.empty(MESSAGE_BYTES, dtype=np.uint8)
    message[1] = COLON
    state, words = np.empty(4, dtype=np.uint32), np.empty(16, dtype=np.uint32)
    planes = np.empty((PLANES, places * ((n_bits + 63) >> 6)), dtype=np.uint64)
    sums = np.empty((n_types, places, n_bits), dtype=np.int16)
    for t in range(n_types):
        n = characters(blob, offsets[t], offsets[t + 1], starts)
        planes[:] = 0
        found = 0
        message[0] = KIND_N
        for i in range(n):
            for length in range(1, min(LONGEST, n - i) + 1):
                if length == 1 and (i == 0 or i == n - 1):
                    continue  # a bare marker
                first, size = starts[i], starts[i + length] - starts[i]
                message[2 : 2 + size] = blob[first : first + size]
                count_sides(fingerprint_of(message, 2 + size, state, words) ^ flip, planes)
                found += 1
        message[0] = KIND_S
        for i in range(n - 2):
            left, right = starts[i + 1] - starts[i], starts[i + 3] - starts[i + 2]
            message[2 : 2 + left] = blob[starts[i] : starts[i + 1]]
            message[2 + left : 2 + left + right] = blob[starts[i + 2] : starts[i + 3]]
            count_sides(fingerprint_of(message, 2 + left + right, state, words) ^ flip, planes)
            found += 1
        read_counters(planes, found, sums[t])
    return sums.reshape(n_types, places * n_bits)
