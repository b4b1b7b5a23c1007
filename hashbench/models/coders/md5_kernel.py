"""MD5 (RFC 1321) inside a compiled kernel, for the coders that hash every n-gram of a word; others use hashlib."""

from __future__ import annotations

import math

import numpy as np

from hashbench.models.text.compiled import compiled

# RFC 1321, 3.4.
SHIFTS = np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], dtype=np.uint32)
# RFC 1321, 3.4.
SINES = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], dtype=np.uint32)
START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], dtype=np.uint32)  # RFC 1321, 3.3


@compiled
def compress(state: np.ndarray, words: np.ndarray) -> None:
    """Updates an MD5 state (4,) uint32 in place by one block of little-endian words (n,), n = 16."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for i in range(64):
        turn = i >> 4
        if turn == 0:
            mixed, k = d ^ (b & (c ^ d)), i
        elif turn == 1:
            mixed, k = c ^ (d & (b ^ c)), (5 * i + 1) & 15
        elif turn == 2:
            mixed, k = b ^ c ^ d, (3 * i + 5) & 15
        else:
            mixed, k = c ^ (b | ~d), (7 * i) & 15
        total = np.uint32(a + mixed + SINES[i] + words[k])
        shift = SHIFTS[turn, i & 3]
        turned = np.uint32(total << shift) | np.uint32(total >> np.uint32(np.uint32(32) - shift))
        a, d, c, b = d, c, b, np.uint32(b + turned)
    state[0] = np.uint32(state[0] + a)
    state[1] = np.uint32(state[1] + b)
    state[2] = np.uint32(state[2] + c)
    state[3] = np.uint32(state[3] + d)


@compiled
def load_block(data: np.ndarray, start: int, stop: int, words: np.ndarray) -> None:
    """Writes bytes start..stop, at most 64, of `data` (n,) to 16 little-endian words; the rest is zero."""
    words[:] = 0
    for i in range(stop - start):
        words[i >> 2] |= np.uint32(data[start + i]) << np.uint32(8 * (i & 3))


@compiled
def md5_of(data: np.ndarray, start: int, stop: int, state: np.ndarray, words: np.ndarray) -> None:
    """Writes the MD5 of the bytes start..stop of `data` (n,) to `state` (4,) uint32; `words` (16,) is scratch."""
    state[:] = START
    before = 0
    while stop - start >= 64:
        load_block(data, start, start + 64, words)
        compress(state, words)
        start += 64
        before += 64
    rest = stop - start
    load_block(data, start, stop, words)
    words[rest >> 2] |= np.uint32(0x80) << np.uint32(8 * (rest & 3))
    if rest >= 56:  # no room for the length
        compress(state, words)
        words[:] = 0
    n_bits = np.uint64(before + rest) * np.uint64(8)
    words[14] = np.uint32(n_bits & np.uint64(0xFFFFFFFF))
    words[15] = np.uint32(n_bits >> np.uint64(32))
    compress(state, words)
