"""The n-gram pooling hash in compiled loops over UTF-8: exact integers, without a division in the inner loop.

For 0 <= s, h < B < 2^31 the remainder of s h that lies nearest to 0 is s h - q B with q = round(s h / B). In float64
that quotient is off by less than 1/2 + 2^-20, so q is right or one off, which one comparison mends: the result is exact
for every s, h and B, and the loop has no branch.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined
from hashbench.models.text.scan import code_point, longest_string


@inlined
def signatures(points: np.ndarray, n: int, order: int, base: int, modulus: int, found: np.ndarray) -> int:
    """Rolling hashes of the i-grams, i = `order`, of n code points (l,) into `found` (l,); their number."""
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
            found[m] = signature
            m += 1
    return m


@inlined
def add_products(signature: int, seeds: np.ndarray, quotients: np.ndarray, modulus: int, sums: np.ndarray) -> None:
    """Add the folded products of a signature and the seeds of its part (d_i,) to `sums` (d_i,) int64.

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
    """Code points of a string into `points` (l,), without the marker where more goes on behind it; their number."""
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
    """Packed strings -> codes (n, d) float32; where `sums` has rows also the integer column sums (n, d).

    `parts` (N + 1,): where the part of each order begins. `numbers`: base and modulus. `marker`: bytes that are left
    out at the beginning of a string that goes on behind them.
    """
    base, modulus = numbers[0], numbers[1]
    dim, orders = len(seeds), len(parts) - 1
    quotients = seeds / np.float64(modulus)
    longest = longest_string(offsets, 0)
    points, found = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    row = np.empty(dim, dtype=np.int64)
    for t in range(len(offsets) - 1):
        n = read_points(blob, offsets[t], offsets[t + 1], marker, points)
        row[:] = 0
        for order in range(1, orders + 1):
            first, last = parts[order - 1], parts[order]
            m = signatures(points, n, order, base, modulus, found)
            for k in range(m):
                add_products(found[k], seeds[first:last], quotients[first:last], modulus, row[first:last])
            divisor = np.float64(max(m, 1)) * np.float64(modulus)
            for j in range(first, last):
                codes[t, j] = np.float32(2.0 * np.float64(row[j]) / divisor * scale)
        if len(sums):
            sums[t] = row
