"""F1: of class 1, or the mean over classes."""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric, UndefinedScore, predicted_classes


class MacroF1(SummedMetric):
    """Mean of the F1 of each class that occurs in the targets or the predictions.

    >>> MacroF1().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # (4/5 + 2/3) / 2
    0.7333333333333334
    """

    name = "f1_macro"
    outputs = "classes"

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and class ids (n,) or logits (n, C)."""
        from sklearn.metrics import f1_score

        return float(f1_score(targets, predicted_classes(outputs), average="macro", zero_division=0.0))

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of each class, then its occurrences among targets and predictions together.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 2 k).
        """
        predicted = predicted_classes(outputs)
        return _class_columns(targets, predicted, np.union1d(targets, predicted))

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Mean F1 of the classes that occur in a draw, NaN where none does: (draws,), (draws, 2 k) -> (draws,)."""
        hits, both = np.split(sums, 2, axis=1)  # (draws, k) each
        occurs = both > 0
        scores = np.divide(2 * hits, both, out=np.zeros(both.shape), where=occurs)
        k = occurs.sum(axis=1)
        return np.divide(scores.sum(axis=1), k, out=np.full(len(k), np.nan), where=k > 0)


class F1(MacroF1):
    """F1 of class 1, of two classes; undefined where class 1 is neither there nor predicted.

    >>> F1().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # precision 1, recall 1/2
    0.6666666666666666
    """

    name = "f1"
    needs_accuracy = True

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and class ids (n,) or logits (n, C)."""
        from sklearn.metrics import f1_score

        predicted = predicted_classes(outputs)
        if not (targets == 1).any() and not (predicted == 1).any():
            raise UndefinedScore("class 1 is neither in the targets nor predicted")
        return float(f1_score(targets, predicted, labels=[1], average="micro", zero_division=0.0))

    def refuses(self, n_classes: int) -> str:
        return "" if n_classes == 2 else f"f1 needs two classes, here are {n_classes}; use metric f1_macro"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of class 1, then its occurrences among targets and predictions together.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 2).
        """
        return _class_columns(targets, predicted_classes(outputs), np.array([1]))


def _class_columns(targets: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Hits of each of k classes, then occurrences of each: (n,), (n,), (k,) -> (n, 2 k)."""
    real, ours = targets[:, None] == classes, predicted[:, None] == classes  # (n, k)
    return np.concatenate([real & ours, real.astype(np.int8) + ours], axis=1)


METRICS = (F1(), MacroF1())
