"""The table of types that compiled loops enter words into.

It is two open-addressing tables of (key, id + 1): tokens of up to eight bytes without a NUL are their own key, so equal
keys are equal tokens; all others are looked up by a 64-bit hash and compared byte by byte.

`blob` (b,) uint8 holds the tokens end to end, `words` (b / 8,) the same bytes viewed as uint64, `offsets` (t,) int64
where each begins; `short` and `long` (2^k, 2) uint64 are the slots of the two tables.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined


@inlined
def short_key(blob: np.ndarray, at: int, n: int) -> np.uint64:
    """A token of one to eight bytes of `blob` (b,) as a number, or 0 where it is longer or holds a NUL byte."""
    key = np.uint64(0)
    if n > 8:
        return key
    for i in range(n):
        if blob[at + i] == 0:
            return np.uint64(0)
        key |= np.uint64(blob[at + i]) << np.uint64(8 * i)
    return key


@inlined
def eight_bytes(words: np.ndarray, at: int) -> np.uint64:
    """The eight bytes from `at` on as a little-endian number; `words` (n,) are bytes viewed as uint64."""
    shift = np.uint64((at & 7) << 3)
    return (words[at >> 3] >> shift) | ((words[(at >> 3) + 1] << (np.uint64(63) - shift)) << np.uint64(1))


@inlined
def eight_of(words: np.ndarray, at: int, n: int) -> np.uint64:
    """The first `n` bytes from `at` on, eight at most, of `words` (m,) as a little-endian number."""
    eight = eight_bytes(words, at)
    return eight if n >= 8 else eight & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))


@inlined
def long_key(words: np.ndarray, at: int, n: int) -> np.uint64:
    """A 64-bit hash of a token in `words` (m,): multiply and shift, eight bytes at a time."""
    key = np.uint64(0xCBF29CE484222325)
    for i in range(0, n, 8):
        key = (key ^ eight_of(words, at + i, n - i)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return key


@inlined
def slot_of(key: np.uint64, slots: np.ndarray) -> int:
    """The first slot to look for a key in slots (s, 2), s = 2^k."""
    # Golden ratio: Fibonacci hashing.
    mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(mixed ^ (mixed >> np.uint64(29)))) & (len(slots) - 1)


@inlined
def find_short(key: np.uint64, short: np.ndarray, n_types: int) -> int:
    """The id of a token that is its own key in slots (s, 2); a new one is entered as `n_types`."""
    slot = slot_of(key, short)
    while short[slot, 1] != 0:
        if short[slot, 0] == key:
            return int(np.int64(short[slot, 1])) - 1
        slot = (slot + 1) & (len(short) - 1)
    short[slot, 0], short[slot, 1] = key, np.uint64(n_types + 1)
    return n_types


@inlined
def find_long(words: np.ndarray, offsets: np.ndarray, tail: int, n: int, long: np.ndarray, n_types: int) -> int:
    """The id of the token in bytes tail..tail + n by its hash in slots (s, 2); a new one is entered as `n_types`."""
    key = long_key(words, tail, n)
    slot = slot_of(key, long)
    while long[slot, 1] != 0:
        if long[slot, 0] == key:
            type_id = int(np.int64(long[slot, 1])) - 1
            start, same = offsets[type_id], offsets[type_id + 1] - offsets[type_id] == n
            i = 0
            while same and i < n:
                same = eight_of(words, start + i, n - i) == eight_of(words, tail + i, n - i)
                i += 8
            if same:
                return type_id
        slot = (slot + 1) & (len(long) - 1)
    long[slot, 0], long[slot, 1] = key, np.uint64(n_types + 1)
    return n_types


@compiled
def rehash(old: np.ndarray, new: np.ndarray) -> None:
    """Moves the entries of slots (s, 2) into larger, empty ones (t, 2)."""
    for i in range(len(old)):
        if old[i, 1] != 0:
            slot = slot_of(old[i, 0], new)
            while new[slot, 1] != 0:
                slot = (slot + 1) & (len(new) - 1)
            new[slot, 0], new[slot, 1] = old[i, 0], old[i, 1]


@compiled
def enter(
    source: np.ndarray,
    source_offsets: np.ndarray,
    first: int,
    last: int,
    blob: np.ndarray,
    offsets: np.ndarray,
    short: np.ndarray,
    long: np.ndarray,
    n_types: int,
    n_short: int,
    ids: np.ndarray,
) -> tuple[int, int]:
    """Enters types first..last of another table into this one, which has room; ids here -> ids[first:last] of (n,).

    -> (types, short types) of this table.
    """
    for t in range(first, last):
        start, tail = source_offsets[t], offsets[n_types]
        n = source_offsets[t + 1] - start
        for i in range(n):
            blob[tail + i] = source[start + i]
        key = short_key(blob, tail, n)
        ids[t] = (
            find_short(key, short, n_types)
            if key != 0
            else find_long(blob.view(np.uint64), offsets, tail, n, long, n_types)
        )
        if ids[t] == n_types:
            n_types += 1
            n_short += key != 0
            offsets[n_types] = tail + n
    return n_types, n_short


@compiled
def translate(ids: np.ndarray, meaning: np.ndarray, counts: np.ndarray, out: np.ndarray) -> None:
    """out = meaning[ids] (n,); each id is counted in `counts` (t,)."""
    for i in range(len(ids)):
        counts[ids[i]] += 1
        out[i] = meaning[ids[i]]
