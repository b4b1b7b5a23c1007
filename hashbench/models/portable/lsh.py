"""LSH of HashFormers: signs or the best offset of Gaussian numbers over the character n-grams of a token.

The n-grams are a table that ships; the Gaussian numbers are drawn again, as numpy's legacy generator draws them
(MT19937 seeded by `init_genrand`, the polar method of `legacy_gauss`). They are drawn when the first token comes.

A code is decided by sums in float64 in the order of rank. Without numpy, most are decided by whole numbers: those of a
row are one long integer, a lane of 64 bits each, and rows are added at once. Where the rounding of these numbers leaves
a doubt, the sums in float64 decide.
"""

from __future__ import annotations

import json
import math
import random
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from hashbench.models.portable.assembling import BothWays

# A double from 4,096 on below 8,192 has units of 2^-40. With this added, a number below 2,048 is in its lowest bits.
IN_UNITS = 1.5 * 2**12
NO_UNITS = int.from_bytes(struct.pack("<d", IN_UNITS), "little")
MOST_LANES = 2**17  # n-grams of a token whose sum is sure to fit into a lane


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


def in_lanes(numbers: Iterable[float]) -> memoryview:
    """The bytes of numbers below 2,048 in size as lanes of 64 bits: NO_UNITS and the number in units of 2^-40."""
    lanes = array("d", (number + IN_UNITS for number in numbers))
    if sys.byteorder == "big":
        lanes.byteswap()
    return memoryview(lanes).cast("B")


def one_a_lane(width: int) -> int:
    """The integer of `width` lanes that are 1."""
    return int.from_bytes((b"\1" + bytes(7)) * width, "little")


def above_half(total: int, n: int, ones: int) -> int:
    """The lowest lanes, as many as `ones` has, of a sum of `n` integers of lanes: 2^63 and the sum in 2^-40."""
    return total + ones * ((1 << 63) - n * NO_UNITS) & (ones << 64) - ones


def doubt(n: int) -> int:
    """By how many units a sum of `n` lanes can differ from the sum in float64 of numbers below 16."""
    return n + n * n // 512 + 1


def ranks_in(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to the ranks of the known n-grams in it, each as often as it is there."""
    ranks = {ngram: rank for rank, ngram in enumerate(json.loads(read("ngrams.json")))}
    rank_of, lengths = ranks.get, range(1, values["longest"] + 1)

    def listed(token: str) -> list[int]:
        pieces = [token[at : at + length] for length in lengths for at in range(len(token) - length + 1)]
        return [rank for rank in map(rank_of, pieces) if rank is not None]

    return listed


def counts_of(ranks: Iterable[int]) -> dict[int, int]:
    """Rank -> how often it is there, in the order of rank."""
    counts: dict[int, int] = {}
    for rank in sorted(ranks):
        counts[rank] = counts.get(rank, 0) + 1
    return counts


def lsh_bits(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a token to the signs of its products with the hyperplanes, a byte each."""
    listed, bits, zero = ranks_in(values, read), values["bits"], values["zero_bit"]
    n_numbers, row = values["features"] * bits, 8 * bits
    ones = one_a_lane(bits)
    lanes: list[memoryview] = []
    arrays: list[Any] = []

    def exact(ranks: Sequence[int]) -> bytes:
        planes, scores = drawn_gaussians(values["seed"], n_numbers), [0.0] * bits
        for rank, count in counts_of(ranks).items():
            numbers = planes[rank * bits : (rank + 1) * bits]
            scores = [score + count * number for score, number in zip(scores, numbers, strict=True)]
        return bytes(score > 0 or (score == 0 and zero == 1) for score in scores)

    def of_one(token: str) -> bytes:
        if not lanes:
            lanes.append(in_lanes(islice(legacy_gaussians(values["seed"]), n_numbers)))
        ranks, of_rows = listed(token), lanes[0]
        if not 0 < len(ranks) < MOST_LANES:
            return exact(ranks) if ranks else bytes([zero]) * bits
        total = sum([int.from_bytes(of_rows[row * rank : row * (rank + 1)], "little") for rank in ranks])
        scores = above_half(total, len(ranks), ones)
        margin = ones * doubt(len(ranks))
        positive = scores - margin >> 63 & ones
        if positive != scores + margin >> 63 & ones:
            return exact(ranks)
        return positive.to_bytes(row, "little")[::8]

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The bits (n, T) uint8."""
        if not arrays:
            arrays.append(np.random.RandomState(values["seed"]).standard_normal(n_numbers).reshape(-1, bits))
        codes = np.full((len(tokens), bits), zero, np.uint8)
        for code, token in zip(codes, tokens, strict=True):
            counts = counts_of(listed(token))
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
    listed, buckets, first = ranks_in(values, read), values["num_buckets"], values["first_row"]
    half = buckets // 2 if values["negate_half"] else buckets
    ones = one_a_lane(buckets)
    drawn: list[tuple[array[float], int]] = []
    arrays: list[Any] = []

    def exact(counts: Mapping[int, int], offset: int) -> float:
        score = 0.0
        for rank, count in counts.items():
            score += count * drawn[0][0][rank + offset]
        return score if offset < half else -score

    def of_one(token: str) -> list[int]:
        if not drawn:
            eta = drawn_gaussians(values["seed"], values["dimension"])
            eta += eta[:buckets]
            drawn.append((eta, int.from_bytes(in_lanes(eta), "little")))
        ranks = listed(token)
        if not ranks:
            return [first]
        if len(ranks) < MOST_LANES:
            total = sum([drawn[0][1] >> 64 * rank for rank in ranks])
            lanes = above_half(total, len(ranks), ones).to_bytes(8 * buckets, "little")
            scores = struct.unpack(f"<{buckets}Q", lanes)
            # The negative of a score above 2^63 is as much below it
            scores = scores[:half] + tuple([(1 << 64) - score for score in scores[half:]])
            least = max(scores) - 2 * doubt(len(ranks))
            near = [offset for offset, score in enumerate(scores) if score >= least]
        else:
            near = list(range(buckets))
        counts = counts_of(ranks)
        return [first + max(near, key=lambda offset: exact(counts, offset))]

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The rows (n, 1) int64."""
        if not arrays:
            eta = np.random.RandomState(values["seed"]).standard_normal(values["dimension"])
            arrays.append(np.concatenate([eta, eta[:buckets]]))
        codes = np.empty((len(tokens), 1), np.int64)
        for code, token in zip(codes, tokens, strict=True):
            scores = np.zeros(buckets)
            for rank, count in counts_of(listed(token)).items():
                numbers = arrays[0][rank : rank + buckets]
                scores += numbers if count == 1 else count * numbers
            scores[half:] *= -1.0
            code[0] = first + scores.argmax()
        return codes

    return BothWays(of_one, of_many)
