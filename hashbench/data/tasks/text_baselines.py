"""Trivial baselines of texts, which a model must beat: the majority class, and words without order.

bag-of-words is TF-IDF over the suite's lower-cased words with punctuation runs, one and two of them at a time,
sublinear, then a linear model: logistic regression or ridge. The texts of a pair are read one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.words import WordTokenizer

# Ample for a trivial baseline, and half the time of scikit-learn's own on 400,000 rows
TOLERANCE = 1e-3
# scikit-learn's own, where the fit is for a test set: worth 0.4 points on AG News
TEST_TOLERANCE = 1e-4


def majority(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """The most frequent class of train, the smallest of several; the mean for a regression. Each split (n,)."""
    constant = text_kind(data.task).constant(data.splits["train"].labels)
    return {split: np.full(len(data.splits[split]), constant) for split in splits}


def bag_of_words(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """A linear model on TF-IDF; each split (n,). Without a word in train, or with one class only, the majority."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, _joined(train))):
        return majority(data, splits)
    features = TfidfVectorizer(
        tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 2), sublinear_tf=True
    )
    model = make_pipeline(features, head).fit(_joined(train), train.labels)
    return {split: np.asarray(model.predict(_joined(data.splits[split]))) for split in splits}


def _joined(split: Split) -> list[str]:
    return [" ".join(texts) for texts in zip(*split.texts, strict=True)]


BASELINES = {"majority": majority, "bag-of-words": bag_of_words}
