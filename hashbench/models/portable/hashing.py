"""Hashes of tokens and numbers: HMAC-MD5 with its bits and rows, SplitMix64, MurmurHash64A and MurmurHash3 x64."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

try:  # Python's own: of a short string it takes a third of the time of OpenSSL's
    from _md5 import md5
except ImportError:
    md5 = partial(hashlib.md5, usedforsecurity=False)


def md5_of(key: str) -> Callable[[str], bytes]:
    """A function from a token to the 16 bytes of its HMAC (RFC 2104) under a key."""
    secret = key.encode()
    if len(secret) > 64:
        secret = md5(secret).digest()
    padded = secret.ljust(64, b"\0")
    inner, outer = (md5(bytes(b ^ mark for b in padded)) for mark in (0x36, 0x5C))

    def digest(token: str) -> bytes:
        within, around = inner.copy(), outer.copy()
        within.update(token.encode())
        around.update(within.digest())
        return around.digest()

    return digest


def md5_bits(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], bytes]:
    """A function from a token to 128 bits, a byte each."""
    digest = md5_of(values["key"])
    bits = [bytes(byte >> place & 1 for place in range(7, -1, -1)) for byte in range(256)]
    return lambda token: b"".join([bits[byte] for byte in digest(token)])


def md5_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row of a table."""
    digest = md5_of(values["key"])
    return lambda token: [values["first_row"] + int.from_bytes(digest(token), "big") % values["num_buckets"]]


ALL_64 = 2**64 - 1
GAMMA_64, MIX_FIRST, MIX_SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix64(z: int) -> int:
    """SplitMix64's finaliser of a 64-bit number."""
    z = ((z ^ (z >> 30)) * MIX_FIRST) & ALL_64
    z = ((z ^ (z >> 27)) * MIX_SECOND) & ALL_64
    return z ^ (z >> 31)


A_FACTOR, A_SHIFT = 0xC6A4A7935BD1E995, 47
FIRST_64, SECOND_64 = 0x87C37B91114253D5, 0x4CF5AD432745937F
MIX_A, MIX_B = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
ADD_A, ADD_B = 0x52DCE729, 0x38495AB5


def murmur64a(data: bytes, seed: int) -> int:
    """MurmurHash64A of bytes."""
    h = seed ^ (len(data) * A_FACTOR & ALL_64)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * A_FACTOR & ALL_64
        k = (k ^ k >> A_SHIFT) * A_FACTOR & ALL_64
        h = (h ^ k) * A_FACTOR & ALL_64
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * A_FACTOR & ALL_64
    h = (h ^ h >> A_SHIFT) * A_FACTOR & ALL_64
    return h ^ h >> A_SHIFT


def turned(x: int, bits: int) -> int:
    """A 64-bit number with its bits rotated to the left."""
    x &= ALL_64
    return (x << bits | x >> (64 - bits)) & ALL_64


def finalised(k: int) -> int:
    """MurmurHash3's finaliser of a 64-bit number."""
    k = (k ^ k >> 33) * MIX_A & ALL_64
    k = (k ^ k >> 33) * MIX_B & ALL_64
    return k ^ k >> 33


def murmur3(data: bytes, seed: int) -> tuple[int, int]:
    """MurmurHash3_x64_128 of bytes, as its two halves."""
    h1 = h2 = seed
    whole = len(data) & ~15
    for at in range(0, whole, 16):
        h1 ^= turned(int.from_bytes(data[at : at + 8], "little") * FIRST_64, 31) * SECOND_64 & ALL_64
        h1 = ((turned(h1, 27) + h2) * 5 + ADD_A) & ALL_64
        h2 ^= turned(int.from_bytes(data[at + 8 : at + 16], "little") * SECOND_64, 33) * FIRST_64 & ALL_64
        h2 = ((turned(h2, 31) + h1) * 5 + ADD_B) & ALL_64
    rest = data[whole:]
    h2 ^= turned(int.from_bytes(rest[8:], "little") * SECOND_64, 33) * FIRST_64 & ALL_64
    h1 ^= turned(int.from_bytes(rest[:8], "little") * FIRST_64, 31) * SECOND_64 & ALL_64
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & ALL_64
    h1, h2 = finalised(h1), finalised((h2 + h1) & ALL_64)
    h1 = (h1 + h2) & ALL_64
    return h1, (h2 + h1) & ALL_64


def quarter(halves: tuple[int, int], i: int) -> int:
    """The i-th of four 32-bit parts of a 128-bit hash: low and high of the first half, then of the second."""
    return halves[i >> 1] >> 32 * (i & 1) & 0xFFFFFFFF


def signed_row(row: int, buckets: int, number: int, i: int, signs: int) -> int:
    """The code of a row: with `signs`, the row and the index of a sign vector in one number, else the row itself."""
    return row + buckets * (mix64((number + (i + 1) * GAMMA_64) & ALL_64) % signs) if signs else row
