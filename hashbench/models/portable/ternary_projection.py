"""Features -1, 0 and 1 of a word by a hash of its bytes, four in a byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.hashing import A_FACTOR, A_SHIFT, ALL_64

GOLDEN = 0x9E3779B97F4A7835
NULL = b"<null>"  # what the empty word is hashed as


def ternary_projection(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the bytes of its features."""
    n_numbers, bits = values["width"] // 8, values["bits"]

    def encode(token: str) -> list[int]:
        data = token.encode() or NULL
        numbers = xfix_numbers(data, bits, n_numbers) if bits else murmur_numbers(data, n_numbers)
        return list(b"".join([number.to_bytes(8, "little") for number in numbers]))

    return encode


def shift_mixed(value: int) -> int:
    """A 64-bit number xor its upper bits."""
    value &= ALL_64
    return value ^ value >> A_SHIFT


def murmur_numbers(data: bytes, n_numbers: int) -> list[int]:
    """64-bit numbers of bytes: MurmurHash64A, a mix of its inner states, and further ones made of these two."""
    h, g = len(data) * A_FACTOR & ALL_64, 0
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        k = shift_mixed(int.from_bytes(data[at : at + 8], "little") * A_FACTOR) * A_FACTOR & ALL_64
        h = (h ^ k) * A_FACTOR & ALL_64
        g ^= h
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * A_FACTOR & ALL_64
        g ^= h
    h = shift_mixed(h) * A_FACTOR & ALL_64
    numbers = [shift_mixed(h), shift_mixed((g ^ h) * GOLDEN) * GOLDEN & ALL_64]
    while len(numbers) < n_numbers:
        h = shift_mixed(numbers[-2]) * A_FACTOR & ALL_64
        numbers += [shift_mixed((numbers[-1] ^ h) * GOLDEN) * GOLDEN & ALL_64, shift_mixed(h)]
    return numbers


def xfix_numbers(data: bytes, bits: int, n_numbers: int) -> list[int]:
    """64-bit numbers of bytes: the lowest `bits` of each step of running products from both ends."""
    front, back, at = A_FACTOR, GOLDEN, 0
    low, high = len(data) * A_FACTOR & ALL_64, len(data) * GOLDEN & ALL_64
    mask = (1 << bits) - 1
    numbers: list[int] = []
    while len(numbers) < n_numbers:
        for _ in range(64 // bits - (not numbers)):
            front = (front << 8 | data[at]) * A_FACTOR & ALL_64
            back = (back << 8 | data[-1 - at]) * GOLDEN & ALL_64
            low, high = (low << bits | front & mask) & ALL_64, (high << bits | back & mask) & ALL_64
            at = (at + 1) % len(data)
        numbers += [low, high]
    return numbers
