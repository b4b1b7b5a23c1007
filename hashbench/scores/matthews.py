"""Matthews correlation, for any number of classes (Gorodkin 2004)."""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric, predicted_classes


class Matthews(SummedMetric):
    """Matthews correlation; 0 by definition where predictions or targets are constant.

    >>> Matthews().score(np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1]))
    0.0
    """

    name = "matthews"
    outputs = "classes"
    of_constant = 0.0

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and class ids (n,) or logits (n, C)."""
        from sklearn.metrics import matthews_corrcoef

        return float(matthews_corrcoef(targets, predicted_classes(outputs)))

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits, then occurrences of each class in the targets and in the predictions.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 1 + 2 k).
        """
        predicted = predicted_classes(outputs)
        classes = np.union1d(targets, predicted)
        real, ours = targets[:, None] == classes, predicted[:, None] == classes
        return np.concatenate([(targets == predicted)[:, None], real, ours], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Examples (draws,) and sums (draws, 1 + 2 k) -> scores (draws,)."""
        real, ours = np.split(sums[:, 1:], 2, axis=1)  # (draws, k) each
        shared = sums[:, 0] * n - (real * ours).sum(axis=1)
        square = (n**2 - (real**2).sum(axis=1)) * (n**2 - (ours**2).sum(axis=1))
        return np.divide(shared, np.sqrt(square), out=np.zeros(len(n)), where=square > 0)


METRICS = (Matthews(),)
