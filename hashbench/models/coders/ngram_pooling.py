"""The n-gram pooling hash of EELBERT (Cohn et al. 2023, section 3.2): d numbers in [-1, 1] of a string, no parameters.

For i = 1..N the i-grams of a type are hashed to signatures s, P = s h_i mod B for the i-th part of the seeds h, P is
folded (P - B where P > B / 2) and divided by B / 2; e_i is the mean over the i-grams, e = concat(e_1 .. e_N).

Chosen here, where the paper is silent: the partition (below), the rolling hash (Rabin-Karp over code points, base 257,
modulo B), the seeds (SplitMix64), 0 where a type is too short for an i-gram. A type is hashed as its vocabulary spells
it, "##" included, unless `strip`. Sums are exact in int64: (B - 1)^2 < 2^63.

The compiled loops over UTF-8 compute exact integers without a division. For 0 <= s, h < B < 2^31 the remainder of s h
nearest to 0 is s h - q B with q = round(s h / B). In float64 that quotient is off by less than 1/2 + 2^-20, so q is
right or one off, which one comparison mends: the result is exact for every s, h and B, and the loop has no branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import Coder, checked_count, checked_switch
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import code_point, compiled, inlined, longest_string
from hashbench.models.text.unicode import pack


@inlined
def signatures(points: np.ndarray, n: int, order: int, base: int, modulus: int, results: np.ndarray) -> int:
    """Writes rolling hashes of the i-grams, i = `order`, of n code points (l,) to `results` (l,); returns how many."""
    # base^(order - 1) mod B: the weight of the character that leaves.
    highest = np.int64(1)
    for _ in range(order - 1):
        highest = highest * base % modulus
    signature, m = np.int64(0), 0
    for i in range(n):
        if i >= order:
            signature = (signature - points[i - order] % modulus * highest) % modulus
        signature = (signature * base + points[i]) % modulus
        if i >= order - 1:
            results[m] = signature
            m += 1
    return m


@inlined
def add_products(signature: int, seeds: np.ndarray, quotients: np.ndarray, modulus: int, sums: np.ndarray) -> None:
    """Adds the folded products of a signature and the seeds of its part (d_i,) to `sums` (d_i,) int64.

    32-bit factors and an index from 0, so that four or eight products are made at once.
    """
    highest = np.int64(modulus // 2)
    lowest = highest - modulus + 1
    factor, whole, real = np.int32(signature), np.int32(modulus), np.float64(signature)
    for j in range(len(seeds)):
        quotient = np.int32(real * quotients[j] + 0.5)
        product = np.int64(factor) * np.int64(seeds[j]) - np.int64(quotient) * np.int64(whole)
        product = product + modulus if product < lowest else product
        product = product - modulus if product > highest else product
        sums[j] += product


@inlined
def read_points(blob: np.ndarray, at: int, end: int, marker: np.ndarray, points: np.ndarray) -> int:
    """Writes the code points of a string to `points` (l,), without a marker that more follows; returns their number."""
    n = 0
    if 0 < len(marker) < end - at:
        same = True
        for i in range(len(marker)):
            same = same and blob[at + i] == marker[i]
        if same:
            at += len(marker)
    while at < end:
        point, width = code_point(blob, at)
        points[n] = point
        at += width
        n += 1
    return n


@compiled
def pooled(
    blob: np.ndarray,
    offsets: np.ndarray,
    seeds: np.ndarray,
    parts: np.ndarray,
    numbers: np.ndarray,
    scale: float,
    marker: np.ndarray,
    sums: np.ndarray,
    codes: np.ndarray,
) -> None:
    """Writes codes (n, d) float32 of packed strings; where `sums` has rows also the integer column sums (n, d).

    `parts` (N + 1,): where the part of each order begins. `numbers`: base and modulus. `marker`: bytes that are left
    out at the beginning of a string that goes on behind them.
    """
    base, modulus = numbers[0], numbers[1]
    dim, orders = len(seeds), len(parts) - 1
    quotients = seeds / np.float64(modulus)
    longest = longest_string(offsets, 0)
    points, hashes = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    row = np.empty(dim, dtype=np.int64)
    for t in range(len(offsets) - 1):
        n = read_points(blob, offsets[t], offsets[t + 1], marker, points)
        row[:] = 0
        for order in range(1, orders + 1):
            first, last = parts[order - 1], parts[order]
            m = signatures(points, n, order, base, modulus, hashes)
            for k in range(m):
                add_products(hashes[k], seeds[first:last], quotients[first:last], modulus, row[first:last])
            divisor = np.float64(max(m, 1)) * np.float64(modulus)
            for j in range(first, last):
                codes[t, j] = np.float32(2.0 * np.float64(row[j]) / divisor * scale)
        if len(sums):
            sums[t] = row


ORDERS, MODULUS = 3, 1_000_000_007  # N and B (section 3.2)
# Base of the rolling hash: no two n-grams of bytes collide, since 257^3 < B.
BASE = 257
SEED = 42  # the random state
MARKER = "##"  # of a word piece that goes on


class NgramPooling(Coder):
    """e = concat over i of mean(fold(s_i h_i mod B)) / (B / 2), times `scale`: float32 (n, dim).

    A model's coder gets its encoder's width as `dim`. `partition`: seeds of each order; None: i times
    floor(d / (N (N + 1) / 2)) for i < N, the rest for N. `strip` hashes "##ing" as "ing".
    """

    name = "ngram-pooling"
    dtype = np.float32

    def __init__(
        self,
        dim: int = 768,
        orders: int = ORDERS,
        modulus: int = MODULUS,
        seed: int = SEED,
        partition: Sequence[int] | None = None,
        scale: float = 1.0,
        strip: bool = False,
    ) -> None:
        self.orders = checked_count(self.name, "orders", orders, most=16)
        self.dim = self.width = checked_count(self.name, "dim", dim, least=1)
        self.modulus = checked_count(self.name, "modulus", modulus, least=3)
        self.seed = checked_count(self.name, "seed", seed, least=0, most=2**64 - 1)
        if not isinstance(scale, int | float) or isinstance(scale, bool) or not 0 < scale < float("inf"):
            raise InputError(f"coder {self.name}: scale {scale!r} is no number above 0; correct it")
        self.scale, self.strip = float(scale), checked_switch(self.name, "strip", strip)
        self.partition = self._checked_partition(partition)
        self._seeds = seed_vector(self.seed, self.dim, self.modulus)
        self._parts = np.cumsum([0, *self.partition])

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> vectors (n, d) float32."""
        return self._computed(blob, offsets, with_sums=False)[0]

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the seeds, their partition and constants."""
        values = {
            "base": BASE, "modulus": self.modulus, "scale": self.scale, "marker": MARKER if self.strip else "",
            "seeds": self._seeds.tolist(), "partition": list(self.partition),
        }  # fmt: skip
        return PortablePart("ngram_pooling", "ngram_pooling", values)

    def sums(self, strings: Sequence[str]) -> np.ndarray:
        """The integers behind the vectors: column sums S (n, d) int64 of the folded products, e = 2 S / (k B)."""
        return self._computed(*pack(strings), with_sums=True)[1]

    def _computed(self, blob: np.ndarray, offsets: np.ndarray, *, with_sums: bool) -> tuple[np.ndarray, np.ndarray]:
        """Codes (n, d), and sums (n, d) where requested, else none."""
        n = len(offsets) - 1
        codes = np.empty((n, self.dim), dtype=np.float32)
        sums = np.empty((n if with_sums else 0, self.dim), dtype=np.int64)
        marker = np.frombuffer(MARKER.encode() if self.strip else b"", dtype=np.uint8)
        numbers = np.array([BASE, self.modulus], dtype=np.int64)
        places = np.asarray(offsets, dtype=np.int64)
        pooled(blob, places, self._seeds, self._parts, numbers, self.scale, marker, sums, codes)
        return codes, sums

    def _checked_partition(self, partition: Sequence[int] | None) -> tuple[int, ...]:
        if partition is None:
            least = self.orders * (self.orders + 1) // 2
            unit = self.dim // least
            if unit == 0:
                sizes = f"dim {self.dim} is too small for orders {self.orders}"
                raise InputError(f"coder {self.name}: {sizes}; take at least {least}, or fewer orders")
            parts = [unit * order for order in range(1, self.orders)]
            return (*parts, self.dim - sum(parts))
        whole = isinstance(partition, list | tuple) and all(type(part) is int and part > 0 for part in partition)
        if not whole or len(partition) != self.orders or sum(partition) != self.dim:
            wanted = f"{self.orders} whole numbers above 0 whose sum is {self.dim}"
            raise InputError(f"coder {self.name}: partition {partition!r}; give {wanted}")
        return tuple(partition)


def seed_vector(state: int, dim: int, modulus: int) -> np.ndarray:
    """The seeds h (d,) int32, 1 <= h < B: h_j = 1 + mix(state + (j + 1) G) mod (B - 1), mix of SplitMix64.

    >>> seed_vector(42, 3, 1_000_000_007).tolist()
    [678530714, 427935848, 627061557]
    """
    values = mix(np.uint64(state) + np.arange(1, dim + 1, dtype=np.uint64) * np.uint64(GAMMA))  # (d,)
    return (1 + values % np.uint64(modulus - 1)).astype(np.int32)
