"""LSH of HashFormers: signs or the best offset of Gaussian numbers over the character n-grams of a token.

The n-grams are a table that ships; the Gaussian numbers are drawn again, as numpy's legacy generator draws them
(MT19937 seeded by `init_genrand`, the polar method of `legacy_gauss`). They are drawn when the first token comes.
"""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def legacy_gaussians(seed: int) -> Iterator[float]:
    """The numbers of numpy.random.RandomState(seed).standard_normal, one by one."""
    state = [seed & 0xFFFFFFFF]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*state, 624), None))
    uniform, root, logarithm = generator.random, math.sqrt, math.log
    while True:
        x = 2.0 * uniform() - 1.0
        y = 2.0 * uniform() - 1.0
        squares = x * x + y * y
        if 0.0 < squares < 1.0:
            factor = root(-2.0 * logarithm(squares) / squares)
            yield factor * y
            yield factor * x


def drawn_gaussians(seed: int, n: int) -> array[float]:
    """The first `n` numbers of `legacy_gaussians`."""
    numbers = legacy_gaussians(seed)
    return array("d", (next(numbers) for _ in range(n)))


def known_ngrams(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[tuple[int, int]]]:
    """A function from a token to the known n-grams in it, by rank, with their counts."""
    ranks = {ngram: rank for rank, ngram in enumerate(json.loads(read("ngrams.json")))}

    def features(token: str) -> list[tuple[int, int]]:
        counts: dict[int, int] = {}
        for length in range(1, values["longest"] + 1):
            for start in range(len(token) - length + 1):
                rank = ranks.get(token[start : start + length])
                if rank is not None:
                    counts[rank] = counts.get(rank, 0) + 1
        return sorted(counts.items())

    return features


def lsh_bits(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to the signs of its products with the hyperplanes."""
    features, bits, zero = known_ngrams(values, read), values["bits"], values["zero_bit"]
    planes: list[array[float]] = []

    def encode(token: str) -> list[int]:
        if not planes:
            planes.append(drawn_gaussians(values["seed"], values["features"] * bits))
        scores = [0.0] * bits
        for rank, count in features(token):
            row = planes[0][rank * bits : (rank + 1) * bits]
            scores = [score + count * number for score, number in zip(scores, row, strict=True)]
        return [int(score > 0 or (score == 0 and zero == 1)) for score in scores]

    return encode


def lsh_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to the row whose offset scores best, the first of equals."""
    features, buckets, dimension = known_ngrams(values, read), values["num_buckets"], values["dimension"]
    wrapped: list[array[float]] = []

    def encode(token: str) -> list[int]:
        if not wrapped:
            eta = drawn_gaussians(values["seed"], dimension)
            wrapped.append(eta + eta[:buckets])
        scores = [0.0] * buckets
        for rank, count in features(token):
            row = wrapped[0][rank : rank + buckets]
            scores = [score + count * number for score, number in zip(scores, row, strict=True)]
        if values["negate_half"]:
            scores = [score if i < buckets // 2 else -score for i, score in enumerate(scores)]
        return [values["first_row"] + scores.index(max(scores))]

    return encode
