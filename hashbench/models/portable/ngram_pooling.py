"""The n-gram pooling hash of EELBERT: the mean of folded products of rolling hashes with seeds, one part an order.

With p = s h of a hash s and a seed h, modulo B, the folded product is p - q B, q = floor((p + B - 1 - half) / B) with
half = floor(B / 2). Its sum over hashes is h times their sum less B times the sum of q. The products of a hash with all
seeds of an order are one long integer, each in a lane of 64 bits, so that a dozen operations make all q.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hashbench.models.portable.assembling import BothWays


class SeedLanes:
    """The seeds of one order (d_i,) in lanes of an integer, and what a division by B < 2^31 needs in each lane."""

    def __init__(self, seeds: Sequence[int], modulus: int) -> None:
        self.modulus, self.bits = modulus, modulus.bit_length()
        self.ones = sum(1 << 64 * j for j in range(len(seeds)))
        self.seeds = sum(seed << 64 * j for j, seed in enumerate(seeds))
        self.reciprocal = (1 << 2 * self.bits) // modulus
        self.added = self.ones * (modulus - 1 - modulus // 2)
        self.low = self.ones * ((1 << self.bits + 1) - 1)
        self.once, self.twice = (self.ones * ((1 << 63) - k * modulus) for k in (1, 2))
        self.form = struct.Struct(f"<{len(seeds)}q")

    def sums(self, hashes: Sequence[int]) -> tuple[int, ...]:
        """The sum over hashes of the folded products with each seed (d_i,)."""
        quotients = 0
        for number in hashes:
            products = self.seeds * number + self.added
            # Barrett's quotient is at most two too small: a rest of B or more sets the highest bit of `once`
            quotient = ((products >> self.bits - 1 & self.low) * self.reciprocal >> self.bits + 1) & self.low
            rest = products - quotient * self.modulus
            quotients += quotient + (rest + self.once >> 63 & self.ones) + (rest + self.twice >> 63 & self.ones)
        highest = self.ones << 63
        signed = (self.seeds * sum(hashes) - quotients * self.modulus + highest) ^ highest
        return self.form.unpack(signed.to_bytes(self.form.size, "little"))


def ngram_pooling(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a token to its vector, numbers as float32 holds them."""
    base, modulus, marker, scale = values["base"], values["modulus"], values["marker"], values["scale"]
    parts = _parts(values["seeds"], values["partition"])
    lanes = [SeedLanes(seeds, modulus) for seeds in parts]
    form = struct.Struct(f"<{len(values['seeds'])}f")

    def points_of(token: str) -> list[int]:
        if marker and token.startswith(marker) and len(token) > len(marker):
            token = token[len(marker) :]
        return [ord(character) % modulus for character in token]

    def of_one(token: str) -> list[float]:
        points, vector = points_of(token), []
        hashes = points
        for order, part in enumerate(lanes, 1):
            if order > 1:
                hashes = [(s * base + point) % modulus for s, point in zip(hashes, points[order - 1 :], strict=False)]
            divisor = float(max(len(hashes), 1)) * float(modulus)
            vector += [2.0 * total / divisor * scale for total in part.sums(hashes)]
        return list(form.unpack(form.pack(*vector)))

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The vectors (n, d) float32."""
        listed = [points_of(token) for token in tokens]
        points = np.array([point for of_token in listed for point in of_token], np.int64)  # (m,)
        sizes = np.array([len(of_token) for of_token in listed])
        owners = np.repeat(np.arange(len(tokens)), sizes)
        codes, hashes, at = np.zeros((len(tokens), len(values["seeds"])), np.float32), points, 0
        for order, seeds in enumerate(parts, 1):
            if order > 1:  # of windows that begin at each point, also those that reach into the next token
                hashes = (hashes[:-1] * base + points[order - 1 :]) % modulus
            inside = owners[: len(hashes)] == owners[order - 1 :]
            held = np.flatnonzero(sizes >= order)  # tokens with an n-gram of this order
            if len(held):
                products = hashes[inside, None] * np.array(seeds, np.int64)  # (k, d_i)
                products -= (products + (modulus - 1 - modulus // 2)) // modulus * modulus
                counts = sizes[held] - order + 1
                totals = np.add.reduceat(products, np.cumsum(counts) - counts, axis=0)  # (h, d_i)
                codes[held, at : at + len(seeds)] = 2.0 * totals / (counts * float(modulus))[:, None] * scale
            at += len(seeds)
        return codes

    return BothWays(of_one, of_many)


def _parts(seeds: list[int], partition: list[int]) -> list[list[int]]:
    """The seeds divided among the orders of n-grams."""
    ends = [sum(partition[: i + 1]) for i in range(len(partition))]
    return [seeds[end - n : end] for end, n in zip(ends, partition, strict=True)]
