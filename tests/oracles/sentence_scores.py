"""Scores of one sentence in plain Python: acceptability after Shuffle + Random, pseudo-log-likelihood after masking.

`logits` is the model with its head as a black box: ids of one sentence, never padded -> a list of scores a place.
Negative ids are special tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Logits = Callable[[list[int]], list[list[float]]]
INTACT = 0


def log_share(scores: Sequence[float], of: int) -> float:
    """The logarithm of softmax at one place."""
    highest = max(scores)
    return scores[of] - highest - math.log(math.fsum(math.exp(score - highest) for score in scores))


def in_short(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Sum, mean and minimum, and how many there are."""
    return math.fsum(values), math.fsum(values) / len(values), min(values), float(len(values))


def acceptability(ids: list[int], logits: Logits) -> tuple[float, float, float, float]:
    """Of log P(intact) at every ordinary token."""
    rows = logits(ids)
    return in_short([log_share(row, INTACT) for one, row in zip(ids, rows, strict=True) if one >= 0])


def pseudo_log_likelihood(
    ids: list[int], words: list[int], row_of: Callable[[int], int], mask: int, logits: Logits
) -> tuple[float, float, float, float]:
    """Of log P(token), the token and all that follow it in the same word masked."""
    values = []
    for place, one in enumerate(ids):
        if one >= 0:
            hidden = [mask if words[at] == words[place] and at >= place else ids[at] for at in range(len(ids))]
            values.append(log_share(logits(hidden)[place], row_of(one)))
    return in_short(values)
