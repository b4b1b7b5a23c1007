"""The table of words that compiled loops look tokens up in, and the order of types.

The table is one open-addressing table. A token of up to sixteen bytes without a NUL is its own key, so equal keys are
equal tokens; all others are looked up by a 64-bit hash and their length, and compared byte by byte.

`slots` (4 s,) uint64, s = 2^k, has four numbers a slot: the key's two, (kind << 32) | (id + 1), zero where the slot is
free, and where a long token begins in `blob`. `blob` (b,) uint8 holds the tokens end to end, `offsets` (t,) int64 where
each begins, `size` (1,) int64 the number of tokens.

Types are ordered by count and string. A radix sort brings strings of one count into the order of their next eight
bytes. What these do not tell apart is sorted by the eight bytes behind them, and so on; a few strings are compared with
each other.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined
from hashbench.models.text.fast.machine import load_number, prefetch, store_number

BATCH = 64  # tokens that are looked up together
SLACK = 16  # bytes behind the tokens of a blob that may be written or read
OWN, LONG = np.uint64(1), np.uint64(2)  # kinds of keys
LOW_HALF = np.uint64(0xFFFFFFFF)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE, TWO, THREE, FOUR, HALF = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4), np.uint64(32)
# Odd numbers whose bits look random: the golden ratio's, and the first of SplitMix64's mixer
GOLDEN, OTHER_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@inlined
def own_key(low: np.ndarray, at: int, n: int) -> tuple[np.uint64, np.uint64]:
    """The key of a token of one to sixteen bytes of `low` (b,): its bytes as two little-endian numbers."""
    first, second = load_number(low, at), load_number(low, at + 8)
    if n > 8:
        return first, second & (ALL_BITS >> np.uint64(128 - 8 * n))
    return first & (ALL_BITS >> np.uint64(64 - 8 * n)), np.uint64(0)


@inlined
def long_key(low: np.ndarray, at: int, n: int) -> tuple[np.uint64, np.uint64]:
    """The key of any other token of `low` (b,): multiply and shift, eight bytes at a time, and its length."""
    key = np.uint64(0xCBF29CE484222325)
    for i in range(0, n, 8):
        eight = load_number(low, at + i)
        if n - i < 8:
            eight &= ALL_BITS >> np.uint64(64 - 8 * (n - i))
        key = (key ^ eight) * GOLDEN
        key ^= key >> HALF
    return key, np.uint64(n)


@inlined
def mixed(first: np.uint64, second: np.uint64) -> np.uint64:
    """A key -> 64 bits; the highest ones choose the slot."""
    bits = (first ^ (second * OTHER_ODD)) * GOLDEN
    return (bits ^ (bits >> HALF)) * GOLDEN


@inlined
def same_bytes(low: np.ndarray, at: int, n: int, blob: np.ndarray, start: int) -> bool:
    """True where low[at : at + n] and blob[start : start + n] are equal; SLACK bytes lie behind both."""
    i = 0
    while i + 8 <= n and load_number(low, at + i) == load_number(blob, start + i):
        i += 8
    while i < n and low[at + i] == blob[start + i]:
        i += 1
    return i == n


@compiled
def find(
    keys: np.ndarray, j: int, low: np.ndarray, at: int, slots: np.ndarray, blob: np.ndarray
) -> tuple[np.uint64, int]:
    """Looks up the token low[at:] by keys[j]: two numbers, kind, `mixed` -> (slot, id), or (a free slot, -1)."""
    first, second, kind, slot = keys[j, 0], keys[j, 1], keys[j, 2], keys[j, 3] >> shift_of(slots)
    last, word = np.uint64((len(slots) >> 2) - 1), -1
    entry = slots[FOUR * slot + TWO]
    while entry != 0:
        if slots[FOUR * slot] == first and slots[FOUR * slot + ONE] == second and entry >> HALF == kind:
            n, start = int(np.int64(second)), int(np.int64(slots[FOUR * slot + THREE]))
            if kind == OWN or same_bytes(low, at, n, blob, start):
                word = int(np.int64(entry & LOW_HALF)) - 1
                break
        slot = (slot + ONE) & last
        entry = slots[FOUR * slot + TWO]
    return slot, word


@compiled
def enter(
    keys: np.ndarray,
    j: int,
    slot: np.uint64,
    low: np.ndarray,
    at: int,
    n: int,
    slots: np.ndarray,
    blob: np.ndarray,
    offsets: np.ndarray,
    size: np.ndarray,
) -> int:
    """Enters a new token, the bytes low[at : at + n], into a free slot of a table with room for it; returns its id."""
    word = size[0]
    tail = offsets[word]
    for i in range(0, n, 8):
        store_number(blob, tail + i, load_number(low, at + i))
    offsets[word + 1] = tail + n
    slots[FOUR * slot], slots[FOUR * slot + ONE] = keys[j, 0], keys[j, 1]
    slots[FOUR * slot + THREE] = np.uint64(tail)
    slots[FOUR * slot + TWO] = (keys[j, 2] << HALF) | np.uint64(word + 1)
    size[0] = word + 1
    return int(word)


@compiled
def rehash(old: np.ndarray, new: np.ndarray) -> None:
    """Moves the entries of slots (4 s,) into larger, empty ones (4 t,)."""
    shift, last = shift_of(new), np.uint64((len(new) >> 2) - 1)
    for i in range(0, len(old), 4):
        if old[i + 2] != 0:
            slot = mixed(old[i], old[i + 1]) >> shift
            while new[FOUR * slot + TWO] != 0:
                slot = (slot + ONE) & last
            for j in range(4):
                new[FOUR * slot + np.uint64(j)] = old[i + j]


@inlined
def shift_of(slots: np.ndarray) -> np.uint64:
    """The number of bits by which `mixed` is shifted to a slot of `slots` (4 s,), s = 2^k."""
    shift, n = 64, len(slots) >> 2
    while n > 1:
        n >>= 1
        shift -= 1
    return np.uint64(shift)


@compiled
def gather(words: np.ndarray, blob: np.ndarray, offsets: np.ndarray, out: np.ndarray, ends: np.ndarray) -> None:
    """Copies the tokens `words` (n,) of a table to out[ends[i] : ends[i + 1]] each; -1: another table's, left out."""
    for i in range(len(words)):
        prefetch(offsets, max(words[min(i + 16, len(words) - 1)], 0))
        prefetch(blob, offsets[max(words[min(i + 8, len(words) - 1)], 0)])
        word = words[i]
        if word >= 0:
            start, tail = offsets[word], ends[i]
            n, j = offsets[word + 1] - start, 0
            while j + 8 <= n:
                store_number(out, tail + j, load_number(blob, start + j))
                j += 8
            while j < n:
                out[tail + j] = blob[start + j]
                j += 1


@compiled
def unite(
    tokens: np.ndarray,
    places: np.ndarray,
    slots: np.ndarray,
    blob: np.ndarray,
    offsets: np.ndarray,
    size: np.ndarray,
    ids: np.ndarray,
) -> None:
    """The ids (n,) of `tokens`, laid end to end with `places` (n + 1,), in a table with room for new ones."""
    keys, shift = np.empty((BATCH, 4), dtype=np.uint64), shift_of(slots)
    for first in range(0, len(ids), BATCH):
        count = min(BATCH, len(ids) - first)
        for j in range(count):
            at, n = places[first + j], places[first + j + 1] - places[first + j]
            is_own = n <= 16
            for i in range(min(n, 16)):
                is_own = is_own and tokens[at + i] != 0
            head, rest = own_key(tokens, at, n) if is_own else long_key(tokens, at, n)
            bits = mixed(head, rest)
            keys[j, 0], keys[j, 1], keys[j, 2], keys[j, 3] = head, rest, OWN if is_own else LONG, bits
            prefetch(slots, int(np.int64(FOUR * (bits >> shift))))
        for j in range(count):
            at, n = places[first + j], places[first + j + 1] - places[first + j]
            slot, word = find(keys, j, tokens, at, slots, blob)
            ids[first + j] = word if word >= 0 else enter(keys, j, slot, tokens, at, n, slots, blob, offsets, size)


@compiled
def translate(ids: np.ndarray, meaning: np.ndarray, out: np.ndarray) -> None:
    """out = meaning[ids] (n,)."""
    for i in range(len(ids)):
        out[i] = meaning[ids[i]]


DIGIT = np.uint64(0xFF)
COMPARED_STRINGS = 16  # strings that are compared with each other


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
                if i - first > COMPARED_STRINGS:
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
