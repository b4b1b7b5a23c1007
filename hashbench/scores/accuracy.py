"""Accuracy."""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric, predicted_classes


class Accuracy(SummedMetric):
    """Share of right classes.

    >>> Accuracy().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """

    name = "accuracy"
    outputs = "classes"

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and class ids (n,) or logits (n, C)."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(targets, predicted_classes(outputs)))

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Whether the class is right: targets (n,) and outputs (n,) or (n, C) -> (n, 1)."""
        return (targets == predicted_classes(outputs))[:, None]

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Examples (draws,) and sums (draws, 1) -> scores (draws,)."""
        return sums[:, 0] / n


METRICS = (Accuracy(),)
