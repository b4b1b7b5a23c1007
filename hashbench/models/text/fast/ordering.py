"""The order of types in a table, by count and string, by compiled radix sorts.

A radix sort brings strings of one count into the order of their next eight bytes. What these do not tell apart is
sorted by the eight bytes behind them, and so on; a few strings are compared with each other.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined
from hashbench.models.text.fast.machine import load_number

DIGIT = np.uint64(0xFF)
FEW = 16  # strings that are compared with each other


@inlined
def eight_in_order(tokens: np.ndarray, at: int, end: int) -> np.uint64:
    """The bytes tokens[at:end], at most eight, as a number that grows with them: big-endian, zeros behind."""
    n = min(end - at, 8)
    number = np.uint64(0)
    if n <= 0:
        return number
    if at + 8 <= len(tokens):
        eight = load_number(tokens, at)
        for i in range(8):
            number = (number << np.uint64(8)) | ((eight >> np.uint64(8 * i)) & DIGIT)
        return number & (np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(64 - 8 * n))
    for i in range(n):
        number |= np.uint64(tokens[at + i]) << np.uint64(56 - 8 * i)
    return number


@compiled
def radix_sort(
    keys: np.ndarray, order: np.ndarray, first: int, last: int, other_keys: np.ndarray, other_order: np.ndarray
) -> None:
    """Sorts order[first:last] by keys[first:last], (n,) uint64, in place and stable; the others are spare arrays."""
    starts = np.empty(256, dtype=np.int64)
    for digit in range(8):
        shift = np.uint64(8 * digit)
        starts[:] = 0
        for i in range(first, last):
            starts[np.int64((keys[i] >> shift) & DIGIT)] += 1
        if starts[np.int64((keys[first] >> shift) & DIGIT)] == last - first:
            continue  # they have one digit in common
        total = first
        for value in range(256):
            n = starts[value]
            starts[value] = total
            total += n
        for i in range(first, last):
            value = int(np.int64((keys[i] >> shift) & DIGIT))
            place = starts[value]
            other_keys[place], other_order[place] = keys[i], order[i]
            starts[value] = place + 1
        keys[first:last] = other_keys[first:last]
        order[first:last] = other_order[first:last]


@compiled
def comes_before(tokens: np.ndarray, offsets: np.ndarray, a: int, b: int, depth: int) -> bool:
    """True where string number `a` sorts before `b`; their first `depth` bytes are equal."""
    end, other_end = offsets[a + 1], offsets[b + 1]
    at, other_at = offsets[a] + depth, offsets[b] + depth
    while at < end and other_at < other_end:
        if tokens[at] != tokens[other_at]:
            return tokens[at] < tokens[other_at]
        at += 1
        other_at += 1
    return end - at < other_end - other_at


@compiled
def sort_few(tokens: np.ndarray, offsets: np.ndarray, order: np.ndarray, first: int, last: int, depth: int) -> None:
    """Sorts the strings order[first:last], whose first `depth` bytes are equal, by comparing them."""
    for i in range(first + 1, last):
        moved, j = order[i], i
        while j > first and comes_before(tokens, offsets, moved, order[j - 1], depth):
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved


@inlined
def load_keys(
    tokens: np.ndarray, offsets: np.ndarray, order: np.ndarray, a: int, b: int, depth: int, keys: np.ndarray
) -> int:
    """Writes to keys[a:b] the eight bytes behind the first `depth` of order[a:b]; returns the length of the longest."""
    longest = 0
    for i in range(a, b):
        start, end = offsets[order[i]], offsets[order[i] + 1]
        keys[i] = eight_in_order(tokens, start + depth, end)
        longest = max(longest, end - start)
    return longest


@compiled
def order_of_types(tokens: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The order (n,) int64 by (count descending, bytes) of distinct strings, end to end with `offsets` (n + 1,)."""
    n = len(counts)
    order, room = np.arange(n), np.empty(n, dtype=np.int64)
    keys, other_keys = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    load_keys(tokens, offsets, order, 0, n, 0, keys)
    radix_sort(keys, order, 0, n, other_keys, room)
    for i in range(n):
        keys[i] = ~np.uint64(counts[order[i]])
    radix_sort(keys, order, 0, n, other_keys, room)
    load_keys(tokens, offsets, order, 0, n, 0, keys)
    # Strings order[a:b] of equal count and equal first `depth` bytes are still to be sorted
    waiting, a, b, depth = [(0, 0, 0)], 0, n, 0
    while True:
        first = a
        for i in range(a + 1, b + 1):
            if i == b or keys[i] != keys[first] or counts[order[i]] != counts[order[first]]:
                if i - first > FEW:
                    waiting.append((first, i, depth + 8))
                elif i - first > 1:
                    sort_few(tokens, offsets, order, first, i, depth + 8)
                first = i
        a, b, depth = waiting.pop()
        while b > 0 and load_keys(tokens, offsets, order, a, b, depth, keys) <= depth:  # they end in other NULs
            for i in range(a, b):
                keys[i] = np.uint64(offsets[order[i] + 1] - offsets[order[i]])
            radix_sort(keys, order, a, b, other_keys, room)
            a, b, depth = waiting.pop()
        if b == 0:
            return order
        radix_sort(keys, order, a, b, other_keys, room)
