"""The table of words that compiled loops look tokens up in.

It is one open-addressing table. A token of up to sixteen bytes without a NUL is its own key, so equal keys are equal
tokens; all others are looked up by a 64-bit hash and their length, and compared byte by byte.

`slots` (4 s,) uint64, s = 2^k, has four numbers a slot: the key's two, (kind << 32) | (id + 1), zero where the slot is
free, and where a long token begins in `blob`. `blob` (b,) uint8 holds the tokens end to end, `offsets` (t,) int64 where
each begins, `size` (1,) int64 the number of tokens.
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
    """A key -> 64 bits of which the highest choose the slot."""
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
    """The ids (n,) of `tokens`, laid end to end with `places` (n + 1,), in a table with room for those that are new."""
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
