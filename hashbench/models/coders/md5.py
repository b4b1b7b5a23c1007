"""MD5 codes of HashFormers (Xue and Aletras 2022, sections 3.2 and 3.4): HMAC-MD5 of a type, as bits or modulo N.

The paper has "a secret key"; the released code's is `en`. Bits are most significant first.

MD5 and HMAC-MD5 (RFC 1321, RFC 2104) of many short strings: compiled, several strings side by side in one register.

A step of MD5 waits for the one before it. Strings that fit one block, as words do, do not wait for each other, so the
compiler puts the same step of eight of them into one instruction of AVX2, of sixteen where the registers are wider.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import FIRST_ROW, Coder, PortableCoder, checked_count
from hashbench.models.portable.hashing import md5_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, inlined
from hashbench.models.text.unicode import split

# Strings that are hashed before the compiled loop would be loaded.
FEW_TYPES = 1_000


class Md5Bits(Coder):
    """The 128 bits of HMAC-MD5, packed (n, 16) uint8: bit 0 is the top bit of the first hexadecimal digit."""

    name = "md5-bits"
    width = 16
    dtype = np.uint8
    bits = 128

    def __init__(self, md_key: str = "en") -> None:
        self.md_key = checked_key(md_key)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its one value is the key."""
        return PortablePart("hashing", "md5_bits", {"key": self.md_key})

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> packed bits (n, 16)."""
        if len(offsets) > FEW_TYPES:
            return hmac_md5(blob, np.asarray(offsets, dtype=np.int64), self.md_key.encode())
        digest = md5_of(self.md_key)
        digests = b"".join([digest(string.decode()) for string in split(blob, offsets)])
        return np.frombuffer(digests, dtype=np.uint8).reshape(-1, self.width)


class Md5Rows(PortableCoder):
    """Row `first_row` + (HMAC-MD5 as a big-endian number) mod `num_buckets`."""

    name = "md5-rows"
    width = 1
    dtype = np.int64

    def __init__(self, num_buckets: int = 50_260, md_key: str = "en", first_row: int = FIRST_ROW) -> None:
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.md_key = checked_key(md_key)
        self.first_row = checked_count(self.name, "first_row", first_row, least=0)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the key and the sizes of the table."""
        values = {"key": self.md_key, "num_buckets": self.num_buckets, "first_row": self.first_row}
        return PortablePart("hashing", "md5_rows", values)


def checked_key(key: str) -> str:
    """`key`, if it is a text. Raises InputError otherwise."""
    if not isinstance(key, str):
        raise InputError(f"coder: md_key {key!r} is no text; put it in quotes")
    return key


# RFC 1321, 3.4.
SHIFTS = np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], dtype=np.uint32)
# RFC 1321, 3.4.
SINES = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], dtype=np.uint32)
LANES = 32  # strings that are hashed side by side
# Bytes of a message from which on its padding needs a second block.
ONE_BLOCK = 56
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
def finish_message(data: np.ndarray, start: int, stop: int, before: int, state: np.ndarray, words: np.ndarray) -> None:
    """Updates an MD5 state by the message start..stop of `data` (n,) and its padding, behind `before` hashed bytes."""
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


@inlined
def _turned(a: np.uint32, b: np.uint32, mixed: np.uint32, word: np.uint32, i: int, shift: int) -> np.uint32:
    """One step of MD5: b + ((a + mixed + word + SINES[i]) rotated left by `shift` bits)."""
    total = np.uint32(a + mixed + word + SINES[i])
    return np.uint32(b + np.uint32(np.uint32(total << np.uint32(shift)) | np.uint32(total >> np.uint32(32 - shift))))


@compiled
def compress_lanes(state: np.ndarray, words: np.ndarray) -> None:
    """`compress` of LANES blocks side by side: states (4, LANES) uint32 in place, words (16, LANES) uint32.

    Four steps are written out in each loop, so that the compiler unrolls the loops and computes eight lanes at once.
    """
    for lane in range(LANES):
        a, b, c, d = state[0, lane], state[1, lane], state[2, lane], state[3, lane]
        for i in range(0, 16, 4):
            a = _turned(a, b, d ^ (b & (c ^ d)), words[i, lane], i, 7)
            d = _turned(d, a, c ^ (a & (b ^ c)), words[i + 1, lane], i + 1, 12)
            c = _turned(c, d, b ^ (d & (a ^ b)), words[i + 2, lane], i + 2, 17)
            b = _turned(b, c, a ^ (c & (d ^ a)), words[i + 3, lane], i + 3, 22)
        for i in range(16, 32, 4):
            a = _turned(a, b, c ^ (d & (b ^ c)), words[(5 * i + 1) & 15, lane], i, 5)
            d = _turned(d, a, b ^ (c & (a ^ b)), words[(5 * i + 6) & 15, lane], i + 1, 9)
            c = _turned(c, d, a ^ (b & (d ^ a)), words[(5 * i + 11) & 15, lane], i + 2, 14)
            b = _turned(b, c, d ^ (a & (c ^ d)), words[(5 * i) & 15, lane], i + 3, 20)
        for i in range(32, 48, 4):
            a = _turned(a, b, b ^ c ^ d, words[(3 * i + 5) & 15, lane], i, 4)
            d = _turned(d, a, a ^ b ^ c, words[(3 * i + 8) & 15, lane], i + 1, 11)
            c = _turned(c, d, d ^ a ^ b, words[(3 * i + 11) & 15, lane], i + 2, 16)
            b = _turned(b, c, c ^ d ^ a, words[(3 * i + 14) & 15, lane], i + 3, 23)
        for i in range(48, 64, 4):
            a = _turned(a, b, c ^ (b | ~d), words[(7 * i) & 15, lane], i, 6)
            d = _turned(d, a, b ^ (a | ~c), words[(7 * i + 7) & 15, lane], i + 1, 10)
            c = _turned(c, d, a ^ (d | ~b), words[(7 * i + 14) & 15, lane], i + 2, 15)
            b = _turned(b, c, d ^ (c | ~a), words[(7 * i + 5) & 15, lane], i + 3, 21)
        state[0, lane] = np.uint32(state[0, lane] + a)
        state[1, lane] = np.uint32(state[1, lane] + b)
        state[2, lane] = np.uint32(state[2, lane] + c)
        state[3, lane] = np.uint32(state[3, lane] + d)


@compiled
def finish_messages(blob: np.ndarray, offsets: np.ndarray, start: np.ndarray, before: int) -> np.ndarray:
    """Packed strings, each behind `before` bytes already hashed to the state `start` (4,) -> states (n, 4) uint32.

    LANES strings go side by side; one that does not fit one block with its padding is hashed by itself.
    """
    n = len(offsets) - 1
    out = np.empty((n, 4), dtype=np.uint32)
    words, state = np.zeros((16, LANES), dtype=np.uint32), np.zeros((4, LANES), dtype=np.uint32)
    one_words, one_state = np.zeros(16, dtype=np.uint32), np.zeros(4, dtype=np.uint32)
    for first in range(0, n, LANES):
        lanes = min(LANES, n - first)
        words[:] = 0
        for lane in range(LANES):
            for j in range(4):
                state[j, lane] = start[j]
        for lane in range(lanes):
            begin = offsets[first + lane]
            size = offsets[first + lane + 1] - begin
            if size < ONE_BLOCK:
                for i in range(size):
                    words[i >> 2, lane] |= np.uint32(blob[begin + i]) << np.uint32(8 * (i & 3))
                words[size >> 2, lane] |= np.uint32(0x80) << np.uint32(8 * (size & 3))
                words[14, lane] = np.uint32((before + size) * 8)  # in bits
        compress_lanes(state, words)
        for lane in range(lanes):
            begin, end = offsets[first + lane], offsets[first + lane + 1]
            if end - begin < ONE_BLOCK:
                for j in range(4):
                    out[first + lane, j] = state[j, lane]
            else:
                one_state[:] = start
                finish_message(blob, begin, end, before, one_state, one_words)
                out[first + lane] = one_state
    return out


@compiled
def finish_digests(digests: np.ndarray, start: np.ndarray, before: int) -> np.ndarray:
    """Digests (n, 4) uint32, each behind `before` bytes already hashed to `start` (4,) -> states (n, 4) uint32."""
    n = len(digests)
    out = np.empty((n, 4), dtype=np.uint32)
    words, state = np.zeros((16, LANES), dtype=np.uint32), np.zeros((4, LANES), dtype=np.uint32)
    words[4] = np.uint32(0x80)
    words[14] = np.uint32((before + 16) * 8)  # in bits
    for first in range(0, n, LANES):
        lanes = min(LANES, n - first)
        for j in range(4):
            state[j] = start[j]
            for lane in range(lanes):
                words[j, lane] = digests[first + lane, j]
        compress_lanes(state, words)
        for lane in range(lanes):
            for j in range(4):
                out[first + lane, j] = state[j, lane]
    return out


def hmac_md5(blob: np.ndarray, offsets: np.ndarray, key: bytes) -> np.ndarray:
    """HMAC-MD5 (RFC 2104) of packed strings under a key, uint8 (n, 16)."""
    if len(key) > 64:
        key = hashlib.md5(key, usedforsecurity=False).digest()
    padded = np.frombuffer(key.ljust(64, b"\0"), dtype=np.uint8)
    inner, outer = padded ^ np.uint8(0x36), padded ^ np.uint8(0x5C)
    words = np.zeros(16, dtype=np.uint32)
    keyed = np.zeros((2, 4), dtype=np.uint32)  # the states behind the two padded keys
    keyed[:] = START
    for state, block in zip(keyed, (inner, outer), strict=True):
        load_block(block, 0, 64, words)
        compress(state, words)
    within = finish_messages(blob, offsets, keyed[0], 64)
    return finish_digests(within, keyed[1], 64).astype("<u4", copy=False).view(np.uint8)
