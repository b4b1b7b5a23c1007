"""The ternary projection of PRADO and pQRNN in plain Python, with integers that are cut to 64 bits.

`signed`: bytes from 128 on fill the bits above them with ones, as a signed `char` does where the released code runs on
x86.
"""

from __future__ import annotations

WORD = 2**64
K, G = 0xC6A4A7935BD1E995, 0x9E3779B97F4A7835


def m(v: int) -> int:
    return v % WORD ^ v % WORD >> 47


def number(data: bytes, signed: bool) -> int:
    """Bytes as a little-endian number, the highest first."""
    value = 0
    for byte in reversed(data):
        value = value << 8 | (byte - 256 if signed and byte >= 128 else byte) % WORD
    return value % WORD


def murmur(data: bytes, blocks: int, signed: bool = False) -> list[int]:
    """2 `blocks` numbers: low, high, low', high', ..."""
    data = data or b"<null>"
    h, g = len(data) * K % WORD, 0
    for at in range(0, len(data), 8):
        part = data[at : at + 8]
        d = number(part, signed)
        h = (h ^ (m(d * K) * K if len(part) == 8 else d)) * K % WORD
        g ^= h
    h = m(h) * K % WORD
    g ^= h
    found = [m(h), m(g * G) * G % WORD]
    for _ in range(blocks - 1):
        a = m(found[-2]) * K % WORD
        found += [m((found[-1] ^ a) * G) * G % WORD, m(a)]
    return found


def xfix(data: bytes, blocks: int, bits: int) -> list[int]:
    """2 `blocks` numbers, as bits: the lowest of the byte count, then of each step, the first ones highest."""
    data = data or b"<null>"
    sides = []
    for factor, ends in ((K, data), (G, data[::-1])):
        written, running = format(len(data) * factor % WORD, "064b")[-bits:], factor
        for step in range(64 * blocks // bits - 1):
            running = (running * 256 + ends[step % len(data)]) * factor % WORD
            written += format(running % 2**bits, f"0{bits}b")
        sides.append([int(written[at : at + 64], 2) for at in range(0, 64 * blocks, 64)])
    return [value for pair in zip(*sides, strict=True) for value in pair]


def features(numbers: list[int], count: int) -> list[int]:
    """Feature 32 i + j of number i: its bits 2 j and 2 j + 1."""
    return [(0, 1, -1, 0)[numbers[f // 32] >> 2 * (f % 32) & 3] for f in range(count)]
