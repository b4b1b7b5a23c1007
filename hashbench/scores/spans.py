"""Metrics of spans of words, by counts of each row: F1, precision and recall over all spans, and tags that are right.

The F1 is conlleval's and seqeval's: over the spans of all rows together, a hit where both ends and the type are equal.
Targets (n,) are the spans of each row; outputs (n, 4) are the spans predicted there, the hits, the words, and the words
with the right tag.
"""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric

PREDICTED, HITS, WORDS, RIGHT_WORDS = range(4)


class SpanShare(SummedMetric):
    """A share of two sums over the rows."""

    outputs = "spans"

    def parts(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (..., 5) of targets and outputs -> what is divided by what, (...) each."""
        raise NotImplementedError

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where outputs (n, 4) have no span at all: every word has the tag of no span."""
        return not outputs[:, PREDICTED].any()

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Targets (n,) and outputs (n, 4) side by side, (n, 5)."""
        return np.column_stack([targets, outputs])

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums (draws, 5) -> scores (draws,), NaN where there is none."""
        above, below = self.parts(sums)
        return np.divide(above, below, out=np.full(len(n), np.nan), where=below > 0)


class SpanF1(SpanShare):
    """Twice the hits over the spans of both sides.

    >>> SpanF1().score(np.array([2, 1]), np.array([[2, 1, 9, 8], [0, 0, 4, 3]]))  # precision 1/2, recall 1/3
    0.4
    """

    name = "span_f1"
    undefined = "no span is there or predicted"

    def parts(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (..., 5) -> (...) each."""
        return 2 * sums[..., 1 + HITS], sums[..., 0] + sums[..., 1 + PREDICTED]


class SpanPrecision(SpanShare):
    """Hits over the spans that are predicted."""

    name = "span_precision"
    undefined = "no span is predicted"

    def parts(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (..., 5) -> (...) each."""
        return sums[..., 1 + HITS], sums[..., 1 + PREDICTED]


class SpanRecall(SpanShare):
    """Hits over the spans that are there."""

    name = "span_recall"
    undefined = "no span is there"

    def parts(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (..., 5) -> (...) each."""
        return sums[..., 1 + HITS], sums[..., 0]


class WordAccuracy(SpanShare):
    """Words with the right tag over all words; most words are outside of spans, so even no span at all scores high."""

    name = "word_accuracy"
    undefined = "no words"

    def parts(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums (..., 5) -> (...) each."""
        return sums[..., 1 + RIGHT_WORDS], sums[..., 1 + WORDS]


METRICS = (SpanF1(), SpanPrecision(), SpanRecall(), WordAccuracy())
