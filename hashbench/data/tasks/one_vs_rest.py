"""A linear model of scikit-learn for each label, as one model with a score for each: one against the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from hashbench.scores.labels import predicted_labels


class OneVsRest(BaseEstimator):
    """Linear models of two classes, one a label. A label that every row of train has, or none, has no weights.

    As scikit-learn's OneVsRestClassifier, with the weights (C, f), intercepts (C,) and ids (C,) of all labels together.
    """

    multilabel_ = True  # as scikit-learn calls it

    def __init__(self, make: Callable[[], Any]) -> None:
        """`make`: an untrained linear model of two classes."""
        self.make = make

    def fit(self, values: Any, labels: np.ndarray) -> Self:
        """The model itself, fitted to features (n, f), which may be sparse, and labels (n, C)."""
        self.coef_ = np.zeros((labels.shape[1], values.shape[1]))
        self.intercept_ = np.where(labels.all(axis=0), 1.0, -1.0)
        self.classes_ = np.arange(labels.shape[1])
        for label in np.flatnonzero(varies(labels)):
            linear = self.make().fit(values, labels[:, label])
            self.coef_[label], self.intercept_[label] = linear.coef_[0], linear.intercept_[0]
        return self

    def predict(self, values: Any) -> np.ndarray:
        """The labels (n, C) uint8 for features (n, f): those with a score above 0."""
        return predicted_labels(np.asarray(values @ self.coef_.T) + self.intercept_)


def varies(labels: np.ndarray) -> np.ndarray:
    """True for each label (C,) that some rows have and others do not, labels (n, C)."""
    return np.asarray(labels.any(axis=0) & ~labels.all(axis=0))
