"""Trivial baselines of tasks of texts, which read words alone: the floor that a model must be above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hashbench.data.tasks.text import BAG_OF_PAIRS, BAG_OF_WORDS, MAJORITY, text_kind
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.words import WordTokenizer

# Ample for a trivial baseline, and half the time of scikit-learn's own on 400,000 rows
TOLERANCE = 1e-3
# scikit-learn's own, where the fit is for a test set or an export: worth 1.3 points on AG News
TEST_TOLERANCE = 1e-4
SCALE = 3.0  # standard deviations that weigh as much as a whole text


def majority(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """The most frequent class of train, the smallest of several; the mean for a regression. Each split (n,)."""
    constant = text_kind(data.task).constant(data.splits["train"].labels)
    return {split: np.full(len(data.splits[split]), constant) for split in splits}


def bag_of_words(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """Predictions of a linear model on TF-IDF; each split (n,). The majority where train has no word or one class."""
    model = fitted_bag_of_words(data, for_test=for_test)
    if model is None:
        return majority(data, splits)
    return {split: np.asarray(model.predict(_joined(data.splits[split]))) for split in splits}


def fitted_bag_of_words(data: TaskData, *, for_test: bool = False) -> Any:
    """scikit-learn's pipeline behind `bag_of_words`, fitted on train; None where train has no word or one class.

    TF-IDF over the suite's lower-cased words with punctuation runs, one and two of them at a time, sublinear, then
    logistic regression or ridge. The texts of a pair are read one behind the other.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, _joined(train))):
        return None
    features = TfidfVectorizer(
        tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 2), sublinear_tf=True
    )
    return make_pipeline(features, head).fit(_joined(train), train.labels)


def _joined(split: Split) -> list[str]:
    return [" ".join(texts) for texts in zip(*split.texts, strict=True)]


def bag_of_pairs(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """Predictions of a linear model on what the texts of a pair share; each split (n,). A majority as bag_of_words.

    Read are TF-IDF of both texts apart and of their shared words, the cosine of both, and how many words they have and
    share; then logistic regression or ridge. A bag of words reads a pair as one text, and cannot see what it shares.
    """
    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, _joined(train))):
        return majority(data, splits)
    features = PairFeatures(train)
    head.fit(features.of(train), train.labels)
    return {split: np.asarray(head.predict(features.of(data.splits[split]))) for split in splits}


class PairFeatures:
    """Features of the pairs of a split for `bag_of_pairs`, scaled as those of train are."""

    def __init__(self, train: Split) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.preprocessing import StandardScaler

        self._words = TfidfVectorizer(
            tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, sublinear_tf=True
        ).fit([text for texts in train.texts for text in texts])
        self._scaler = StandardScaler().fit(self._shared(*map(self._words.transform, train.texts)))

    def of(self, split: Split) -> Any:
        """The features of n pairs, a sparse matrix (n, 3 v + 7) for v words of train."""
        from scipy import sparse

        first, second = map(self._words.transform, split.texts)
        numbers = sparse.csr_matrix(self._scaler.transform(self._shared(first, second)) / SCALE)
        return sparse.hstack([numbers, first, second, first.multiply(second).sqrt()]).tocsr()

    @staticmethod
    def _shared(first: Any, second: Any) -> np.ndarray:
        """Of TF-IDF (n, v) of both texts: cosine, shares of shared words, and logarithms of numbers of words (n, 7)."""
        n_first, n_second, n_shared = (
            np.asarray((matrix > 0).sum(axis=1), np.float64).ravel()
            for matrix in (first, second, first.multiply(second))
        )
        cosine = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        of_all = n_shared / np.maximum(n_first + n_second - n_shared, 1)
        shares = [n_shared / np.maximum(n_first, 1), n_shared / np.maximum(n_second, 1), of_all]
        return np.column_stack([cosine, *shares, *map(np.log1p, (n_first, n_second, n_shared))])


# By their stored names; the last one is for pairs alone.
BASELINES = {MAJORITY: majority, BAG_OF_WORDS: bag_of_words, BAG_OF_PAIRS: bag_of_pairs}
