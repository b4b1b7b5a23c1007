"""MurmurHash in plain Python integers."""

from __future__ import annotations

WORD = 2**64


def murmur64a(data: bytes, seed: int) -> int:
    m = 0xC6A4A7935BD1E995
    h = seed ^ (len(data) * m % WORD)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * m % WORD
        k = (k ^ k >> 47) * m % WORD
        h = (h ^ k) * m % WORD
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m % WORD
    h = (h ^ h >> 47) * m % WORD
    return h ^ h >> 47


def turned(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) % WORD


def finalised(k: int) -> int:
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD % WORD
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 % WORD
    return k ^ k >> 33


def murmur3(data: bytes, seed: int) -> tuple[int, int]:
    """x64, 128 bits."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = (int.from_bytes(data[i : i + 8], "little") for i in (at, at + 8))
        h1 ^= turned(k1 * c1 % WORD, 31) * c2 % WORD
        h1 = ((turned(h1, 27) + h2) * 5 + 0x52DCE729) % WORD
        h2 ^= turned(k2 * c2 % WORD, 33) * c1 % WORD
        h2 = ((turned(h2, 31) + h1) * 5 + 0x38495AB5) % WORD
    tail = data[whole:]
    h2 ^= turned(int.from_bytes(tail[8:], "little") * c2 % WORD, 33) * c1 % WORD
    h1 ^= turned(int.from_bytes(tail[:8], "little") * c1 % WORD, 31) * c2 % WORD
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) % WORD
    h2 = (h2 + h1) % WORD
    h1, h2 = finalised(h1), finalised(h2)
    h1 = (h1 + h2) % WORD
    return h1, (h2 + h1) % WORD


def quarters(data: bytes, seed: int) -> list[int]:
    """Four 32-bit parts."""
    return [part for half in murmur3(data, seed) for part in (half % 2**32, half >> 32)]
