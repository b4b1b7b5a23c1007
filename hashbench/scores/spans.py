"""Metrics of spans of words, by counts of each row: F1, precision and recall over all spans, and tags that are right.

The F1 is conlleval's and seqeval's: over the spans of all rows together, a hit where both ends and the type are equal.
Targets (n,) are the spans of each row; outputs (n, 4) are the spans predicted there, the hits, the words, and the words
with the right tag.
"""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric

# Each of the five sums as a choice (5,) of it: of spans in the targets, then of the four columns of the outputs
SPANS, PREDICTED, HITS, WORDS, RIGHT_WORDS = np.eye(5)


class SpanShare(SummedMetric):
    """The ratio of two weighted sums of the counts of spans and words of all rows, such as F1.

    >>> span_f1.score(np.array([2, 1]), np.array([[2, 1, 9, 8], [0, 0, 4, 3]]))  # precision 1/2, recall 1/3
    0.4
    """

    outputs = "spans"

    def __init__(self, name: str, above: np.ndarray, below: np.ndarray, undefined: str) -> None:
        """`above` (5,) and `below` (5,): weights of the sums. `undefined`: why there is no score where below is 0."""
        self.name, self.undefined = name, undefined
        self._above, self._below = above, below

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where outputs (n, 4) have no predicted span, so that every word has the tag of no span."""
        return not outputs[:, 0].any()

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Targets (n,) and outputs (n, 4) side by side, (n, 5)."""
        return np.column_stack([targets, outputs])

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums (draws, 5) -> scores (draws,), NaN where there is none."""
        below = sums @ self._below
        return np.divide(sums @ self._above, below, out=np.full(len(n), np.nan), where=below > 0)


# Most words are outside of spans, so that even no span at all has a high word_accuracy.
span_f1 = SpanShare("span_f1", 2 * HITS, SPANS + PREDICTED, "no span is there or predicted")
METRICS = (
    span_f1,
    SpanShare("span_precision", HITS, PREDICTED, "no span is predicted"),
    SpanShare("span_recall", HITS, SPANS, "no span is there"),
    SpanShare("word_accuracy", RIGHT_WORDS, WORDS, "no words"),
)
