"""LSH scores of sparse features in float64; of the scores of rows float32 finds the few that float64 must check.

Features of n types are three arrays: `ids` (m,) int32, `weights` (m,) float64 and `bounds` (n + 1,) int64; type t has
the features ids[bounds[t]:bounds[t + 1]]. Scores are sums in that order.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, compiled_fast

# Offsets scored at a time: 4 KB of float32 stay in the nearest cache.
OFFSETS_AT_ONCE = 1024
# Twice float32's unit roundoff: covers rounded inputs, products and sums.
ROUNDING = 2.0**-23


@compiled
def exact_rolled(eta: np.ndarray, ids: np.ndarray, weights: np.ndarray, start: int, stop: int, offset: int) -> float:
    """sum_f x[f] eta[f + offset] of the features start..stop of (m,)."""
    score = 0.0
    for k in range(start, stop):
        score += weights[k] * eta[ids[k] + offset]
    return score


@compiled_fast
def screened_maximum(
    eta: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    first: int,
    last: int,
    sign: float,
    scores: np.ndarray,
) -> float:
    """The largest sign * score of the offsets first..last, in float32. `scores` (OFFSETS_AT_ONCE,) is scratch."""
    n = last - first
    scores[:n] = np.float32(0)
    k = start
    # Four features a pass: the sums are loaded and stored a quarter as often.
    while k + 4 <= stop:
        w0, w1 = np.float32(sign * weights[k]), np.float32(sign * weights[k + 1])
        w2, w3 = np.float32(sign * weights[k + 2]), np.float32(sign * weights[k + 3])
        e0, e1 = eta[ids[k] + first : ids[k] + last], eta[ids[k + 1] + first : ids[k + 1] + last]
        e2, e3 = eta[ids[k + 2] + first : ids[k + 2] + last], eta[ids[k + 3] + first : ids[k + 3] + last]
        for j in range(n):
            scores[j] += w0 * e0[j] + w1 * e1[j] + w2 * e2[j] + w3 * e3[j]
        k += 4
    while k < stop:
        w0 = np.float32(sign * weights[k])
        e0 = eta[ids[k] + first : ids[k] + last]
        for j in range(n):
            scores[j] += w0 * e0[j]
        k += 1
    largest = scores[0]
    for j in range(n):
        largest = max(largest, scores[j])
    return largest


@compiled
def first_best(
    eta: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    blocks: np.ndarray,
    maxima: np.ndarray,
    margin: float,
) -> int:
    """The first offset of the largest exact score, of the blocks (b, 3) whose maximum (b,) comes within the margin."""
    threshold = maxima.max() - margin
    best, best_score = 0, -np.inf
    for b in range(len(blocks)):
        if maxima[b] < threshold:
            continue
        sign = float(blocks[b, 2])
        for offset in range(blocks[b, 0], blocks[b, 1]):
            score = sign * exact_rolled(eta, ids, weights, start, stop, offset)
            if score > best_score:
                best, best_score = offset, score
    return best


@compiled
def best_offsets(
    eta: np.ndarray, rounded: np.ndarray, blocks: np.ndarray, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """argmax over offsets i of sum_f x[f] eta[f + i], first maximum -> int64 (n,).

    `eta` (D + N - 1 or more) float64 is wrapped already, `rounded` the same in float32, `blocks` (b, 3) int64 are
    (first, last, sign) in the order of the offsets.
    """
    n = len(bounds) - 1
    out = np.zeros(n, dtype=np.int64)
    maxima = np.empty(len(blocks), dtype=np.float64)
    scratch = np.empty(OFFSETS_AT_ONCE, dtype=np.float32)
    largest = np.abs(eta).max()
    for t in range(n):
        start, stop = bounds[t], bounds[t + 1]
        if start == stop:
            continue  # no known feature: every score is 0, the first offset wins
        for b in range(len(blocks)):
            maxima[b] = screened_maximum(
                rounded, ids, weights, start, stop, blocks[b, 0], blocks[b, 1], float(blocks[b, 2]), scratch
            )
        error = largest * np.abs(weights[start:stop]).sum() * (stop - start + 2) * ROUNDING
        out[t] = first_best(eta, ids, weights, start, stop, blocks, maxima, 2 * error)
    return out


@compiled
def sign_bits(
    planes: np.ndarray, zero_bit: int, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """Bits of x . r^j > 0, `zero_bit` where it is 0, most significant first -> uint8 (n, T / 8).

    `planes` (features, T) float64.
    """
    n, width = len(bounds) - 1, planes.shape[1]
    out = np.zeros((n, width // 8), dtype=np.uint8)
    scores = np.empty(width, dtype=np.float64)
    for t in range(n):
        scores[:] = 0
        for k in range(bounds[t], bounds[t + 1]):
            weight, row = weights[k], planes[ids[k]]
            for j in range(width):
                scores[j] += weight * row[j]
        for j in range(width):
            if scores[j] > 0 or (scores[j] == 0 and zero_bit == 1):
                out[t, j >> 3] |= np.uint8(128 >> (j & 7))
    return out
