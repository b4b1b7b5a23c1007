"""LSH of HashFormers: signs or the best offset of Gaussian numbers over the character n-grams of a token.

The n-grams are a table that ships; the Gaussian numbers are drawn again, as numpy's legacy generator draws them
(MT19937 seeded by `init_genrand`, the polar method of `legacy_gauss`). They are drawn when the first token comes.

A code is decided by sums in float64 in the order of rank.
"""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from hashbench.models.portable.assembling import BothWays


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
    return array("d", islice(legacy_gaussians(seed), n))


def known_ngrams(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], dict[int, int]]:
    """A function from a token to the known n-grams in it: rank -> how often it is there, in the order of rank."""
    ranks = {ngram: rank for rank, ngram in enumerate(json.loads(read("ngrams.json")))}
    rank_of, lengths = ranks.get, range(1, values["longest"] + 1)

    def counted(token: str) -> dict[int, int]:
        pieces = [token[at : at + length] for length in lengths for at in range(len(token) - length + 1)]
        counts: dict[int, int] = {}
        for rank in sorted(rank for rank in map(rank_of, pieces) if rank is not None):
            counts[rank] = counts.get(rank, 0) + 1
        return counts

    return counted


def lsh_bits(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a token to the signs of its products with the hyperplanes, a byte each."""
    counted, bits, zero = known_ngrams(values, read), values["bits"], values["zero_bit"]
    n_numbers = values["features"] * bits
    drawn: list[array[float]] = []
    arrays: list[Any] = []

    def of_one(token: str) -> bytes:
        if not drawn:
            drawn.append(drawn_gaussians(values["seed"], n_numbers))
        scores = [0.0] * bits
        for rank, count in counted(token).items():
            numbers = drawn[0][rank * bits : (rank + 1) * bits]
            scores = [score + count * number for score, number in zip(scores, numbers, strict=True)]
        return bytes(score > 0 or (score == 0 and zero == 1) for score in scores)

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The bits (n, T) uint8."""
        if not arrays:
            arrays.append(np.random.RandomState(values["seed"]).standard_normal(n_numbers).reshape(-1, bits))
        codes = np.full((len(tokens), bits), zero, np.uint8)
        for code, token in zip(codes, tokens, strict=True):
            counts = counted(token)
            if counts:
                rows = arrays[0][list(counts)]  # (f, T)
                if max(counts.values()) > 1:
                    rows *= np.array(list(counts.values()), np.float64)[:, None]
                scores = np.add.reduce(rows)  # row by row
                code[:] = scores >= 0 if zero else scores > 0
        return codes

    return BothWays(of_one, of_many)


def lsh_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a token to the row whose offset scores best, the first of equals."""
    counted, buckets, first = known_ngrams(values, read), values["num_buckets"], values["first_row"]
    half = buckets // 2 if values["negate_half"] else buckets
    drawn: list[array[float]] = []
    arrays: list[Any] = []

    def of_one(token: str) -> list[int]:
        if not drawn:
            eta = drawn_gaussians(values["seed"], values["dimension"])
            drawn.append(eta + eta[:buckets])
        scores = [0.0] * buckets
        for rank, count in counted(token).items():
            numbers = drawn[0][rank : rank + buckets]
            scores = [score + count * number for score, number in zip(scores, numbers, strict=True)]
        scores[half:] = [-score for score in scores[half:]]
        return [first + scores.index(max(scores))]

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The rows (n, 1) int64."""
        if not arrays:
            eta = np.random.RandomState(values["seed"]).standard_normal(values["dimension"])
            arrays.append(np.concatenate([eta, eta[:buckets]]))
        codes = np.empty((len(tokens), 1), np.int64)
        for code, token in zip(codes, tokens, strict=True):
            scores = np.zeros(buckets)
            for rank, count in counted(token).items():
                numbers = arrays[0][rank : rank + buckets]
                scores += numbers if count == 1 else count * numbers
            scores[half:] *= -1.0
            code[0] = first + scores.argmax()
        return codes

    return BothWays(of_one, of_many)
