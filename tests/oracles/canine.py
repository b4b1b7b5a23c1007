"""CANINE's hashes and its local blocks in plain Python, from the released code's definition."""

from __future__ import annotations

PRIMES = [31, 43, 59, 61, 73, 97, 103, 113]


def buckets(code_point: int, num_buckets: int = 16_384) -> list[int]:
    """The eight bucket numbers of a character."""
    return [((code_point + 1) * prime) % num_buckets for prime in PRIMES]


def neighbours(place: int, length: int, block: int = 128) -> list[int]:
    """The places that a character may attend to: those of its block."""
    start = place // block * block
    return list(range(start, min(start + block, length)))


def blocks_of_molecule(molecule: int, length: int, rate: int = 4) -> list[int]:
    """The characters that a molecule is made of: CLS for the first, four characters for each other."""
    assert molecule < length // rate
    return [0] if molecule == 0 else list(range(rate * (molecule - 1), rate * molecule))
