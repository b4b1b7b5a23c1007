"""The trivial baseline `hashed-words`: a linear model on hashed words and pairs of words, in a given number of bytes.

It needs no list of words: a word's 32-bit hash (MurmurHash3 of its UTF-8, as in scikit-learn) is its bucket and its
sign. A bucket's value is the logarithm of one more than the number of its words, each counted with its sign. A weight
takes one byte, and each output has a weight for each bucket, so bytes are buckets times outputs. Two classes have one
output, whose sign decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.blocks import BY_GROUPS
from hashbench.data.tasks.text import HASHED_WORDS, text_kind
from hashbench.data.tasks.text_data import Split, TaskData, hold_out
from hashbench.models.text.words import WordTokenizer

LARGEST = 127  # of the integers of weights


@dataclass(frozen=True)
class FittedWords:
    """A fitted model: int8 weights (k, n) of n buckets, scales (k,) and intercepts (k,) of k outputs, and classes."""

    pairs: bool  # whether pairs of neighbouring words are read beside words
    weights: np.ndarray
    scales: np.ndarray
    intercepts: np.ndarray
    classes: np.ndarray  # the ids of classes that train has; none for a regression

    @classmethod
    def of(cls, linear: Any, pairs: bool) -> FittedWords:
        """A fitted linear model of scikit-learn in int8, with one scale for each output."""
        weights = np.atleast_2d(linear.coef_)
        scales = np.maximum(np.abs(weights).max(1), 1e-12) / LARGEST
        rounded = np.round(weights / scales[:, None]).astype(np.int8)
        return cls(pairs, rounded, scales, np.atleast_1d(linear.intercept_), getattr(linear, "classes_", np.array([])))

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """The score of each output (m, k) for m texts."""
        values = bucket_values(texts, self.weights.shape[1], pairs=self.pairs)
        return np.asarray(values @ self.weights.T.astype(np.float64)) * self.scales + self.intercepts

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """The class ids (m,) of m texts, or the values of a regression."""
        scores = self.scores(texts)
        if not len(self.classes):
            return scores[:, 0]
        answers = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
        return np.asarray(self.classes[answers])


def fitted_hashed_words(data: TaskData, size: int) -> FittedWords | None:
    """The model of `size` bytes at most, fitted on train; None where train has no word or one class.

    Pairs of words or not, and how strongly weights are held back, are what is best on a seeded tenth of train, held out
    by groups; then it is fitted on all of train. The same bit for bit on any number of threads. Raises InputError where
    the bytes are fewer than the outputs.
    """
    from threadpoolctl import threadpool_limits

    train, kind = data.splits["train"], text_kind(data.task)
    candidates = kind.linear_models(train.labels)
    if not candidates or not any(map(WordTokenizer().tokenize, joined(train))):
        return None
    counts = kind.class_counts(train, data.n_outputs)
    n_classes = 1 if counts is None else int(np.count_nonzero(counts))
    outputs = n_classes if n_classes > 2 else 1
    buckets = size // outputs
    if not buckets:
        raise InputError(f"{HASHED_WORDS}: {size} bytes have no bucket for each of {outputs} classes; give it more")
    with threadpool_limits(1):  # sums of several threads are rounded otherwise
        pairs, place = _chosen(data, buckets)
        linear = candidates[place].fit(bucket_values(joined(train), buckets, pairs=pairs), train.labels)
    return FittedWords.of(linear, pairs)


def _chosen(data: TaskData, buckets: int) -> tuple[bool, int]:
    """True to read pairs, and the place of the linear model: the first of the best on a seeded tenth of train."""
    train, kind = data.splits["train"], text_kind(data.task)
    best, chosen = -np.inf, (False, 0)
    # Not by the experiment's `hold_out`: that is no part of this run's id, and by rows a near copy may be in both parts
    parts = hold_out(replace(data.task, hold_out=BY_GROUPS), train) if len(train) > 1 else None
    if parts is None or not kind.linear_models(parts.kept.labels):
        return chosen
    targets = kind.targets(data.task, parts.held)
    for pairs in (False, True):
        kept, held = (bucket_values(joined(part), buckets, pairs=pairs) for part in (parts.kept, parts.held))
        for place, linear in enumerate(kind.linear_models(parts.kept.labels)):
            model = FittedWords.of(linear.fit(kept, parts.kept.labels), pairs)
            linear.coef_ = (model.weights * model.scales[:, None]).reshape(linear.coef_.shape)
            outputs = SplitOutputs(linear.predict(held), targets)
            score = next(row.value for row in kind.scores(data.task, outputs) if row.name == data.task.select_metric)
            if score is not None and score > best:
                best, chosen = score, (pairs, place)
    return chosen


def bucket_values(texts: Sequence[str], buckets: int, *, pairs: bool) -> Any:
    """The value of each bucket for m texts, a sparse matrix (m, buckets)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    counts = HashingVectorizer(
        tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 1 + pairs),
        n_features=buckets, norm=None, alternate_sign=True,
    ).transform(texts)  # fmt: skip
    counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    return counts


def joined(split: Split) -> list[str]:
    """The texts of a split; those of a pair one behind the other."""
    return [" ".join(texts) for texts in zip(*split.texts, strict=True)]
