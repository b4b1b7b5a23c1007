"""ProFormer in plain Python, straight from its definitions; nothing is shared with the package."""

from __future__ import annotations

import hashlib

GOLDEN, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def mix(z: int) -> int:
    """SplitMix64's finaliser on 64 bits."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def features(word: str) -> list[str]:
    """All features of a word, with repeats."""
    u = "^" + word.lower()[:256] + "$"
    found = []
    for i in range(len(u)):
        for j in range(i + 1, min(i + 5, len(u)) + 1):
            if (i, j) not in ((0, 1), (len(u) - 1, len(u))):
                found.append("n:" + u[i:j])
    return found + ["s:" + u[i] + u[i + 2] for i in range(len(u) - 2)]


def fingerprint(feature: str, seed: int = 0) -> int:
    """F, xor-ed with the mixed seed."""
    first = int.from_bytes(hashlib.md5(feature.encode("utf-8")).digest()[:8], "little")
    return first ^ mix(seed * GOLDEN & MASK)


def sums(word: str, place: int, bits: int = 420, seed: int = 0) -> list[int]:
    """s^p_j of a word: for each feature and hyperplane +1 or -1."""
    blocks = -(-bits // 64)
    total = [0] * bits
    for feature in features(word):
        f = fingerprint(feature, seed)
        for block in range(blocks):
            sides = mix((f + (blocks * place + block + 1) * GOLDEN) & MASK)
            for j in range(64 * block, min(64 * block + 64, bits)):
                total[j] += 1 if sides >> (j % 64) & 1 else -1
    return total


def in_context(words: list[str], i: int, context: int = 1, bits: int = 420, own_weight: int = 8) -> list[int]:
    """S of the word at i: its own sums as often as they count, and those of its neighbours."""
    total = [own_weight * s for s in sums(words[i], 0, bits)]
    if context and i > 0:
        total = [a + b for a, b in zip(total, sums(words[i - 1], 1, bits), strict=True)]
    if context and i < len(words) - 1:
        total = [a + b for a, b in zip(total, sums(words[i + 1], 2, bits), strict=True)]
    return total


def bits_of(total: list[int]) -> list[int]:
    """1 where the sum is not negative."""
    return [1 if s >= 0 else 0 for s in total]


def hexadecimal(bits: list[int]) -> str:
    """Bits as bytes, bit 0 the lowest of byte 0."""
    octets = [sum(bit << k for k, bit in enumerate(bits[i : i + 8])) for i in range(0, len(bits), 8)]
    return bytes(octets).hex()
