"""Metrics of several labels a row: F1 over all labels of all rows (micro), and the mean of each label's F1 (macro).

Targets (n, C) are 1 where a row has a label. Outputs (n, C) are logits, or 1 and 0: a label is predicted where its
output is above 0, which is a probability above 0.5. Values are scikit-learn's with `zero_division=0`: in the mean a
label that is neither there nor predicted counts as 0. Where no row has a label and none is predicted there is no score.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from hashbench.scores.base import SummedMetric


def predicted_labels(outputs: np.ndarray) -> np.ndarray:
    """The labels (n, C) uint8 that outputs (n, C), logits or 1 and 0, predict.

    >>> predicted_labels(np.array([[0.3, -2.0], [0.0, 5.0]]))
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """
    return (outputs > 0).astype(np.uint8)


class LabelMetric(SummedMetric):
    """A metric of several labels a row."""

    outputs = "multi-label"
    undefined = "no label is there or predicted"

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where the same labels are predicted for every row: outputs (n, C)."""
        predicted = predicted_labels(outputs)
        return bool((predicted == predicted[:1]).all())

    def right(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """True (n,) where a row has exactly the predicted labels: targets (n, C), outputs (n, C)."""
        right: np.ndarray = (predicted_labels(outputs) == targets).all(axis=1)
        return right

    def compact(self, outputs: np.ndarray) -> np.ndarray:
        """The predicted labels (n, C) uint8 of outputs (n, C)."""
        return predicted_labels(outputs)

    def best_constant(self, targets: np.ndarray) -> np.ndarray | None:
        """The labels (n, C) that score highest if they are predicted for every row of targets (n, C)."""
        if not targets.any():
            return None
        return np.tile(self.best_labels(targets.sum(axis=0, dtype=np.int64), len(targets)), (len(targets), 1))

    @abstractmethod
    def best_labels(self, counts: np.ndarray, n: int) -> np.ndarray:
        """The labels (C,) uint8 that score highest for n rows, by how many rows have each, counts (C,)."""


class LabelMicroF1(LabelMetric):
    """F1 over all labels of all rows: twice the hits over the labels that are there and the labels that are predicted.

    >>> LabelMicroF1().score(np.array([[1, 1], [0, 1]]), np.array([[1, 0], [0, 1]]))  # precision 1, recall 2/3
    0.8
    """

    name = "label_f1_micro"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of each row, and labels that it has or that are predicted: (n, C), (n, C) -> (n, 2)."""
        predicted = predicted_labels(outputs)
        both = targets.sum(axis=1, dtype=np.int64) + predicted.sum(axis=1, dtype=np.int64)
        return np.stack([(targets & predicted).sum(axis=1, dtype=np.int64), both], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums (draws, 2) -> scores (draws,), NaN where no label is there or predicted."""
        hits, both = sums.T
        return np.divide(2 * hits, both, out=np.full(len(sums), np.nan), where=both > 0)

    def best_labels(self, counts: np.ndarray, n: int) -> np.ndarray:
        """The k most frequent labels, for the k of the highest score, the least of several."""
        order = np.argsort(-counts, kind="stable")
        # (C,) of the first k = 1, ..., C
        scores = 2 * np.cumsum(counts[order]) / (n * np.arange(1, len(counts) + 1) + counts.sum())
        best = np.zeros(len(counts), np.uint8)
        best[order[: int(scores.argmax()) + 1]] = counts.any()
        return best


class LabelMacroF1(LabelMetric):
    """Mean over all labels of the F1 of each, 0 for a label that is neither there nor predicted.

    >>> LabelMacroF1().score(np.array([[1, 1], [0, 1]]), np.array([[1, 0], [0, 1]]))  # (1 + 2/3) / 2
    0.8333333333333333
    """

    name = "label_f1_macro"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of each label, then its occurrences in the row and its prediction: (n, C), (n, C) -> (n, 2 C)."""
        predicted = predicted_labels(outputs)
        return np.concatenate([targets & predicted, targets + predicted], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums (draws, 2 C) -> scores (draws,), NaN where no label is there or predicted."""
        hits, both = np.split(sums, 2, axis=1)  # (draws, C) each
        occurs = both > 0
        means = np.divide(2 * hits, both, out=np.zeros(both.shape), where=occurs).mean(axis=1)
        return np.where(occurs.any(axis=1), means, np.nan)

    def best_labels(self, counts: np.ndarray, n: int) -> np.ndarray:
        """Each label that some row has."""
        return (counts > 0).astype(np.uint8)


METRICS = (LabelMicroF1(), LabelMacroF1())
