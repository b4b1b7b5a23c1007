"""One linear model a label, against scikit-learn's OneVsRestClassifier."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from hashbench.data.tasks.one_vs_rest import OneVsRest, varies

RANDOM = np.random.default_rng(3)
VALUES = RANDOM.random((60, 8)) * (RANDOM.random((60, 8)) < 0.5)
LABELS = np.stack([VALUES[:, 0] > 0.3, VALUES[:, 1] + VALUES[:, 2] > 0.6, np.zeros(60), np.ones(60)], axis=1)
LABELS = LABELS.astype(np.uint8)  # a label of no row, and one of every row, among them


def test_it_predicts_what_scikit_learn_predicts() -> None:
    for values in (VALUES, csr_matrix(VALUES)):
        own = OneVsRest(partial(LogisticRegression, C=10.0)).fit(values, LABELS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant labels
            other = OneVsRestClassifier(LogisticRegression(C=10.0)).fit(values, LABELS)
        scores = np.asarray(values @ own.coef_.T) + own.intercept_
        assert np.abs(scores).min() > 1e-6  # no answer hangs on the order of a sum
        assert np.array_equal(own.predict(values), other.predict(values))
    assert own.coef_.shape == (4, 8) and not own.coef_[2:].any() and own.classes_.tolist() == [0, 1, 2, 3]


def test_labels_that_vary_are_some_rows_but_not_all() -> None:
    assert varies(LABELS).tolist() == [True, True, False, False]
