"""Which models of a column are not separable from its best, between which ranks each is, and shares of an average.

Two models are compared by their difference alone (`quantity.py`). What holds for several comparisons at once is by
Holm's steps over them (Scandinavian Journal of Statistics 6, 1979): the smallest p-value of k must be at most 0.05 / k,
the next 0.05 / (k - 1), and so on until one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from hashbench.scores.draws import CONFIDENCE
from hashbench.scores.quantity import Uncertain

Differences = Callable[[int, int], Uncertain]  # of the models with two indexes, the second from the first
LEAST_UNITS = 3  # of each model of a column with a group: two say too little about one model


def holm(chances: Sequence[float]) -> list[bool]:
    """For each p-value whether it is below what Holm's steps allow, so that all of these hold at once at 95 %.

    >>> holm([0.04, 0.01, 0.03]), holm([0.04, 0.01, 0.02])
    ([False, True, False], [True, True, True])
    """
    decided = [False] * len(chances)
    for step, place in enumerate(sorted(range(len(chances)), key=lambda place: chances[place])):
        if chances[place] > (1 - CONFIDENCE) / (len(chances) - step):
            break
        decided[place] = True
    return decided


def group(values: Sequence[float], differences: Differences) -> list[bool]:
    """True for each model that is not separable from the best, which is the one with the highest value.

    Where no two of all models are separable, all are in it: the best of many equal models was picked, and differs from
    the last by more than two models that nobody picked.
    """
    pairs = list(combinations(range(len(values)), 2))
    if not any(differences(*pair).is_apart(1 - (1 - CONFIDENCE) / len(pairs)) for pair in pairs):
        return [True] * len(values)
    best = max(range(len(values)), key=lambda place: values[place])
    others = [place for place in range(len(values)) if place != best]
    below = dict(zip(others, holm([_chance(differences(best, place)) for place in others]), strict=True))
    return [not below.get(place, False) for place in range(len(values))]


def ranks(values: Sequence[float], differences: Differences) -> list[tuple[int, int]]:
    """The first and the last rank that each model may have; all hold at once. 1 is the best."""
    pairs = list(combinations(range(len(values)), 2))
    decided = holm([_chance(differences(*pair)) for pair in pairs])
    intervals = [(1, len(values)) for _ in values]
    for (i, j), is_apart in zip(pairs, decided, strict=True):
        if is_apart:
            above, below = (i, j) if differences(i, j).value > 0 else (j, i)
            intervals[above] = (intervals[above][0], intervals[above][1] - 1)
            intervals[below] = (intervals[below][0] + 1, intervals[below][1])
    return intervals


def _chance(of: Uncertain) -> float:
    """The p-value where it is small enough for any step of Holm's, else 1."""
    return of.chance() if of.is_apart() else 1.0


def variance_shares(parts: np.ndarray) -> np.ndarray:
    """The share of each part (parts,) in the variance between models of their sum; (models, parts) -> sum 1.

    It is the covariance of the part and the sum over the variance of the sum, and below 0 for a part that runs against
    the others. NaN where the sums are all equal.

    >>> variance_shares(np.array([[1.0, 10.0], [1.0, 20.0], [1.0, 30.0]]))
    array([0., 1.])
    """
    sums = parts.sum(axis=1)
    centred = parts - parts.mean(axis=0)
    variance = float(((sums - sums.mean()) ** 2).sum())
    return (
        (centred * (sums - sums.mean())[:, None]).sum(axis=0) / variance
        if variance
        else np.full(parts.shape[1], np.nan)
    )
