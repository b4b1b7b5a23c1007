"""Superbloom in plain Python: maps, the beam search of Algorithm 1 with its certificate, masking, sampled softmax."""

from __future__ import annotations

import math

from tests.oracles.corruption import GOLDEN, MASK_64, splitmix, uniform


def bucket_of(n: int, alpha: int, seed: int, j: int) -> list[int]:
    """Map j: items in the order of a hash, cut into pieces of alpha."""
    state = splitmix((seed + (j + 1) * GOLDEN) & MASK_64)
    order = sorted(range(n), key=lambda s: (splitmix((state + (s + 1) * GOLDEN) & MASK_64), s))
    buckets = [0] * n
    for rank, item in enumerate(order):
        buckets[item] = rank // alpha
    return buckets


def ranking(logs: list[list[float]], maps: list[list[int]], k: int) -> list[tuple[int, float]]:
    """The k best of all items, of equal ones the lower number: (item, score)."""
    scored = [(item, sum(row[h[item]] for row, h in zip(logs, maps, strict=True))) for item in range(len(maps[0]))]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]


def beam_search(logs: list[list[float]], maps: list[list[int]], k: int, beam: int) -> tuple[list[int], bool]:
    """Algorithm 1 for the top k: items, and whether no other item can enter (values at rank beam + 1)."""
    candidates: set[int] = set()
    bound = 0.0
    for row, h in zip(logs, maps, strict=True):
        best = sorted(range(len(row)), key=lambda b: -row[b])
        candidates |= {item for item, bucket in enumerate(h) if bucket in best[:beam]}
        bound = bound + row[best[beam]] if beam < len(row) else -math.inf
    scored = [(sum(row[h[item]] for row, h in zip(logs, maps, strict=True)), item) for item in candidates]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    worst = scored[k - 1][0] if len(scored) >= k else -math.inf
    return [item for _, item in scored[:k]], worst >= bound


def predicted(n: int, share: float = 0.15) -> int:
    """How many of a segment's items are predicted."""
    return max(1, round(share * n))


def sampled_loss(scores: list[float], label: int, drawn: list[int], expected: list[float] | None) -> float:
    """Cross-entropy of one prediction among its true row and the drawn ones; `expected` counts by row correct it."""

    def logit(row: int) -> float:
        return scores[row] - (math.log(expected[row]) if expected else 0.0)

    others = [math.exp(logit(row)) for row in drawn if row != label]
    return -logit(label) + math.log(math.exp(logit(label)) + sum(others))


def corrupted(ids: list[int], row: int, seed: int, epoch: int, kind_stream: int, chosen: set[int]) -> list[str]:
    """What becomes of each place: 'keep', 'mask', 'random' or 'stay', given the chosen places."""
    words = []
    for column in range(len(ids)):
        u = uniform(seed, epoch, row, kind_stream, column)
        words.append("keep" if column not in chosen else "mask" if u < 0.8 else "random" if u < 0.8 + 0.1 else "stay")
    return words
