"""Counting and finding character n-grams in compiled loops over UTF-8.

An n-gram of up to four characters is two numbers: three times 21 bits (code point + 1) and the fourth character's, so
equal keys are equal n-grams. Tables are open-addressing with linear probing, at most half full.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled
from hashbench.models.text.utf8 import code_point, longest_string

MIX_A = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
MIX_B = np.uint64(0xC2B2AE3D27D4EB4F)  # xxHash's second prime
POINT_BITS = np.uint64(21)  # a code point + 1 is below 2^21
POINT_MASK = np.uint64(2**21 - 1)
FIRST_SLOTS = 1 << 16


@compiled
def shift_of(n_slots: int) -> np.uint64:
    """The shift to the right that makes a mixed 64-bit key a slot of a table of 2^k slots: 64 - k."""
    return np.uint64(64 - int(np.round(np.log2(n_slots))))


@compiled
def place(low: np.uint64, high: np.uint64, shift: np.uint64) -> int:
    """The first slot of a key in a table of 2^(64 - shift) slots."""
    mixed = (low ^ (low >> np.uint64(31))) * MIX_A + high * MIX_B
    return int(np.int64(((mixed ^ (mixed >> np.uint64(29))) * MIX_A) >> shift))


@compiled
def decode(blob: np.ndarray, start: int, stop: int, points: np.ndarray) -> int:
    """Writes the code points + 1 of a UTF-8 string in `blob` (b,) to `points` (n,); returns their number."""
    n = 0
    while start < stop:
        point, width = code_point(blob, start)
        points[n] = np.uint64(point + 1)
        start += width
        n += 1
    return n


@compiled
def key_from(low: np.uint64, high: np.uint64, point: np.uint64, length: int) -> tuple[np.uint64, np.uint64]:
    """The key of an n-gram of `length` characters, given as `low` and `high`, extended by one more character."""
    if length < 3:
        return low | (point << (POINT_BITS * np.uint64(length))), high
    return low, point


@compiled
def count_into(
    blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray, first: int, keys: np.ndarray, sums: np.ndarray, used: int
) -> tuple[int, int]:
    """Counts the n-grams of types from `first` on -> (the type to go on with, slots used). Stops when half full.

    `keys` (s, 2) and `sums` (s,) are the table.
    """
    n_slots = len(sums)
    mask = n_slots - 1
    shift = shift_of(n_slots)
    points = np.empty(longest_string(offsets, first), dtype=np.uint64)
    for t in range(first, len(counts)):
        if 2 * (used + 4 * (offsets[t + 1] - offsets[t])) > n_slots:
            return t, used
        n = decode(blob, offsets[t], offsets[t + 1], points)
        for i in range(n):
            low, high = np.uint64(0), np.uint64(0)
            for length in range(min(4, n - i)):
                low, high = key_from(low, high, points[i + length], length)
                slot = place(low, high, shift)
                while sums[slot] != 0 and (keys[slot, 0] != low or keys[slot, 1] != high):
                    slot = (slot + 1) & mask
                if sums[slot] == 0:
                    keys[slot, 0], keys[slot, 1] = low, high
                    used += 1
                sums[slot] += counts[t]
    return len(counts), used


@compiled
def reinsert(keys: np.ndarray, sums: np.ndarray, new_keys: np.ndarray, new_sums: np.ndarray) -> None:
    """Moves a table, keys (s, 2) and sums (s,), into a larger one."""
    mask = len(new_sums) - 1
    shift = shift_of(len(new_sums))
    for old in range(len(sums)):
        if sums[old] != 0:
            slot = place(keys[old, 0], keys[old, 1], shift)
            while new_sums[slot] != 0:
                slot = (slot + 1) & mask
            new_keys[slot] = keys[old]
            new_sums[slot] = sums[old]


def count_ngrams(blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Packed types and their counts -> (keys (n, 2) uint64, occurrences (n,) int64), in no order."""
    keys, sums = np.zeros((FIRST_SLOTS, 2), dtype=np.uint64), np.zeros(FIRST_SLOTS, dtype=np.int64)
    done = used = 0
    while True:
        done, used = count_into(blob, offsets, counts, done, keys, sums, used)
        if done == len(counts):
            return keys[sums > 0], sums[sums > 0]
        needed = 2 * (used + 4 * int(offsets[done + 1] - offsets[done]))
        larger = max(4 * len(sums), 1 << needed.bit_length())
        new_keys, new_sums = np.zeros((larger, 2), dtype=np.uint64), np.zeros(larger, dtype=np.int64)
        reinsert(keys, sums, new_keys, new_sums)
        keys, sums = new_keys, new_sums


def key_columns(keys: np.ndarray) -> np.ndarray:
    """Keys of n-grams (n, 2) uint64 -> their code points + 1, (n, 4) int32."""
    low, high = keys[:, 0], keys[:, 1]
    columns = [(low >> (POINT_BITS * np.uint64(i))) & POINT_MASK for i in range(3)]
    return np.stack([*columns, high], axis=1).astype(np.int32)


def build_lookup(ngrams: np.ndarray) -> np.ndarray:
    """A dictionary (features, 4) -> table (slots, 2) uint64: the low key; the high key and rank + 1 in one number."""
    n_slots = 1 << max((4 * len(ngrams)).bit_length(), 4)
    lookup = np.zeros((n_slots, 2), dtype=np.uint64)
    fill_lookup(ngrams.astype(np.uint64), lookup)
    return lookup


@compiled
def fill_lookup(ngrams: np.ndarray, lookup: np.ndarray) -> None:
    """Enters n-grams (features, 4) into a lookup table; the rank of an n-gram is its row."""
    mask = len(lookup) - 1
    shift = shift_of(len(lookup))
    for rank in range(len(ngrams)):
        low = ngrams[rank, 0] | (ngrams[rank, 1] << POINT_BITS) | (ngrams[rank, 2] << (POINT_BITS + POINT_BITS))
        slot = place(low, ngrams[rank, 3], shift)
        while lookup[slot, 1] != 0:
            slot = (slot + 1) & mask
        lookup[slot, 0] = low
        lookup[slot, 1] = (ngrams[rank, 3] << np.uint64(32)) | np.uint64(rank + 1)


@compiled
def find_in(points: np.ndarray, n: int, lookup: np.ndarray, shift: np.uint64, indices: np.ndarray) -> int:
    """Writes ranks of the known n-grams of a decoded string (n,) to `indices` (m,), with repeats; returns how many."""
    mask, m = len(lookup) - 1, 0
    for i in range(n):
        low, high = np.uint64(0), np.uint64(0)
        for length in range(min(4, n - i)):
            low, high = key_from(low, high, points[i + length], length)
            slot = place(low, high, shift)
            while lookup[slot, 1] != 0:
                if lookup[slot, 0] == low and (lookup[slot, 1] >> np.uint64(32)) == high:
                    indices[m] = np.int32(lookup[slot, 1] & np.uint64(0xFFFFFFFF)) - 1
                    m += 1
                    break
                slot = (slot + 1) & mask
    return m


@compiled
def sort_short(values: np.ndarray) -> None:
    """Sorts (n,) in place, by insertion where it is short, since most words have few n-grams."""
    if len(values) > 64:
        values.sort()
        return
    for i in range(1, len(values)):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@compiled
def find_features(
    blob: np.ndarray, offsets: np.ndarray, lookup: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed strings -> (ids, weights, bounds) of known n-grams; only bounds[-1] entries of the first two count."""
    n_types = len(offsets) - 1
    shift = shift_of(len(lookup))
    longest = longest_string(offsets, 0)
    points, indices = np.empty(longest, dtype=np.uint64), np.empty(4 * longest, dtype=np.int32)
    most = 4 * (offsets[-1] - offsets[0])
    ids, weights = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float64)
    bounds = np.zeros(n_types + 1, dtype=np.int64)
    end = 0
    for t in range(n_types):
        m = find_in(points, decode(blob, offsets[t], offsets[t + 1], points), lookup, shift, indices)
        sort_short(indices[:m])
        for k in range(m):
            if k > 0 and indices[k] == indices[k - 1]:
                weights[end - 1] += 1.0
            else:
                ids[end], weights[end] = indices[k], 1.0
                end += 1
        bounds[t + 1] = end
    return ids, weights, bounds
