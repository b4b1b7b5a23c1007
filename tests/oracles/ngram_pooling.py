"""The n-gram pooling hash of EELBERT (section 3.2) in plain Python integers, one product at a time."""

from __future__ import annotations

MODULUS = 1_000_000_007


def seeds(state: int, dim: int, modulus: int = MODULUS) -> list[int]:
    """h_j = 1 + mix(state + (j + 1) G) mod (B - 1); mix is SplitMix64's."""
    found = []
    for j in range(dim):
        z = (state + (j + 1) * 0x9E3779B97F4A7C15) % 2**64
        z ^= z >> 30
        z = z * 0xBF58476D1CE4E5B9 % 2**64
        z ^= z >> 27
        z = z * 0x94D049BB133111EB % 2**64
        z ^= z >> 31
        found.append(1 + z % (modulus - 1))
    return found


def signature(ngram: str, modulus: int = MODULUS) -> int:
    """The polynomial of the code points at 257, without rolling."""
    return sum(ord(c) * 257 ** (len(ngram) - 1 - place) for place, c in enumerate(ngram)) % modulus


def column_sums(token: str, h: list[int], parts: list[int], modulus: int = MODULUS) -> list[int]:
    """S: for each order i its i-grams' signatures times its seeds, reduced, folded and summed."""
    sums: list[int] = []
    first = 0
    for order, size in enumerate(parts, start=1):
        signatures = [signature(token[i : i + order], modulus) for i in range(len(token) - order + 1)]
        for seed in h[first : first + size]:
            total = 0
            for s in signatures:
                product = s * seed % modulus
                total += product - modulus if 2 * product > modulus else product
            sums.append(total)
        first += size
    return sums


def vector(token: str, h: list[int], parts: list[int], modulus: int = MODULUS) -> list[float]:
    """e = 2 S / (k B), 0 where there is no i-gram. Python divides integers exactly, then rounds once to float64."""
    found: list[float] = []
    sums, first = column_sums(token, h, parts, modulus), 0
    for order, size in enumerate(parts, start=1):
        k = max(len(token) - order + 1, 0)
        found += [2 * s / (k * modulus) if k else 0.0 for s in sums[first : first + size]]
        first += size
    return found
