"""Accuracy."""

from __future__ import annotations

import numpy as np

from hashbench.metrics.base import SummedMetric, predicted_classes


class Accuracy(SummedMetric):
    """Share of right classes.

    >>> Accuracy().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """

    name = "accuracy"
    outputs = "classes"

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(targets, predicted_classes(outputs)))

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Whether the class is right: (n, 1)."""
        return (targets == predicted_classes(outputs))[:, None]

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return sums[:, 0] / n


METRICS = (Accuracy(),)
