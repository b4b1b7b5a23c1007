"""Metrics of minimal pairs: the share in which the good sentence has the higher score; equal scores count one half.

Targets (n,) are paradigms. Outputs are small integers (n, 5): for the sum over tokens, their mean and their minimum
2 where the good sentence has the higher score, 1 where both are equal, 0 else; then 1 where both sentences have equally
many tokens, and 1 where the paradigm holds pairs of the same words alone. Draws resample pairs within paradigms.
"""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric

SUM, MEAN, MINIMUM, EQUAL_LENGTH, SAME_WORDS = range(5)
WRONG, TIE, RIGHT = range(3)


class PairAccuracy(SummedMetric):
    """Share of the pairs whose good sentence has the higher score, over all pairs or those with a mark.

    >>> pair_accuracy.score(np.zeros(4), np.array([[2, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 0, 0, 1, 0], [2, 0, 0, 0, 0]]))
    0.625
    """

    outputs = "pairs"
    unit = "pair"

    def __init__(self, name: str, score: int, marked: int | None = None, undefined: str = "") -> None:
        """`score`: column of outcomes; `marked`: column of the mark; `undefined`: the reason if no pair has it."""
        self.name, self._score, self._marked = name, score, marked
        self.undefined = undefined

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where both sentences of every pair have equal scores: outputs (n, 5)."""
        return bool((outputs[:, self._score] == TIE).all())

    def best_constant(self, targets: np.ndarray) -> np.ndarray:
        """Outcomes (n, 5) of equal sentences: half of all pairs are right."""
        return np.tile(np.array([TIE, TIE, TIE, 1, 1]), (len(targets), 1))

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """The paradigm of each pair: (n,) -> (n,)."""
        return targets

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Outcomes 0, 1 or 2 of the pairs that count, and whether they do: (n,), (n, 5) -> (n, 2)."""
        counted = np.ones(len(outputs)) if self._marked is None else outputs[:, self._marked]
        return np.stack([outputs[:, self._score] * counted, counted], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Pairs (draws,) and sums (draws, 2) -> scores (draws,), NaN where no pair counts."""
        return np.divide(sums[:, 0], RIGHT * sums[:, 1], out=np.full(len(n), np.nan), where=sums[:, 1] > 0)


def outcomes(good: np.ndarray, bad: np.ndarray, same_words: np.ndarray) -> np.ndarray:
    """The outputs (n, 5) uint8 of pairs, from sum, mean, minimum and number of tokens of both sentences, (n, 4) each.

    `same_words` (n,): whether the paradigm holds pairs of the same words alone.

    >>> scores = np.array([[-3.0, -1.0, -2.0, 3.0]])
    >>> outcomes(scores, scores - [[1.0, 0.0, -1.0, 0.0]], np.array([True])).tolist()
    [[2, 1, 0, 1, 1]]
    """
    compared = [np.sign(good[:, of] - bad[:, of]) + TIE for of in (SUM, MEAN, MINIMUM)]
    return np.stack([*compared, good[:, 3] == bad[:, 3], same_words], axis=1).astype(np.uint8)


def ties(outputs: np.ndarray) -> int:
    """The number of pairs whose sentences have equal sums, outputs (n, 5)."""
    return int((outputs[:, SUM] == TIE).sum())


pair_accuracy = PairAccuracy("pair_accuracy", SUM)
METRICS = (
    pair_accuracy,
    PairAccuracy("pair_accuracy_mean", MEAN),
    PairAccuracy("pair_accuracy_minimum", MINIMUM),
    PairAccuracy("pair_accuracy_equal_length", SUM, EQUAL_LENGTH, "no pair has equally many tokens on both sides"),
    PairAccuracy("pair_accuracy_same_words", SUM, SAME_WORDS, "no paradigm holds the same words on both sides"),
)
