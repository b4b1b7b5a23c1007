"""Trivial baselines of tasks of texts, which read words alone: the floor that a model must be above.

`hashed-words` is a linear model on hashed words and pairs of words, in a given number of bytes. It needs no list of
words: a word's 32-bit hash (MurmurHash3 of its UTF-8, as in scikit-learn) is its bucket and its sign. A bucket's value
is the logarithm of one more than the number of its words, each counted with its sign. A weight takes one byte, and each
output has a weight for each bucket, so bytes are buckets times outputs. Two classes have one output, whose sign
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.blocks import BY_GROUPS, HASHED_BYTES
from hashbench.data.tasks.text import BAG_OF_PAIRS, BAG_OF_PAIRS_2, BAG_OF_WORDS, HASHED_WORDS, MAJORITY, text_kind
from hashbench.data.tasks.text_data import Split, TaskData, hold_out
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import WordTokenizer
from hashbench.scores.labels import predicted_labels

# Ample for a trivial baseline, and half the time of scikit-learn's own on 400,000 rows
TOLERANCE = 1e-3
# scikit-learn's own, where the fit is for a test set or an export: worth 1.3 points on AG News
TEST_TOLERANCE = 1e-4
SCALE = 3.0  # standard deviations that weigh as much as a whole text
GRAM = 4  # characters of the parts of texts whose sets are compared
CHARACTERS = (3, 5)  # of the n-grams of a TF-IDF
BUCKETS = 65_536  # of the features of a TF-IDF
PLAIN_WORDS = WordTokenizer(r"\w+")  # without punctuation, which texts share whatever they say
FLOAT_BYTES = 4
Facts = dict[str, float]  # what a trivial baseline notes about itself, by name


def majority(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """The constant that fits train best, for each row of each split: (n,), or (n, C) of several labels a row.

    The most frequent class, the smallest of several; the mean for a regression; the labels with the best micro F1.
    """
    constant = np.asarray(text_kind(data.task).constant(data.splits["train"].labels))  # () or (C,)
    return {split: np.repeat(constant[None], len(data.splits[split]), axis=0) for split in splits}


def bag_of_words(
    data: TaskData, splits: Sequence[str], *, for_test: bool = False, facts: Facts | None = None
) -> dict[str, np.ndarray]:
    """Predictions of a linear model on TF-IDF; each split (n,) or (n, C).

    The majority where train has no word or one class.
    """
    model = fitted_bag_of_words(data, for_test=for_test)
    if model is None:
        return majority(data, splits)
    if facts is not None:
        features, head = (part for _, part in model.steps)
        words = features.vocabulary_  # a line each, with an idf of one byte
        facts["bytes"] = sum(len(word.encode()) + 1 for word in words) - 1 + len(words) + head.coef_.size
    return {split: np.asarray(model.predict(joined(data.splits[split]))) for split in splits}


def fitted_bag_of_words(data: TaskData, *, for_test: bool = False) -> Any:
    """scikit-learn's pipeline behind `bag_of_words`, fitted on train; None where train has no word or one class.

    TF-IDF over the suite's lower-cased words with punctuation runs, one and two of them at a time, sublinear, then
    logistic regression or ridge. The texts of a pair are read one behind the other.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, joined(train))):
        return None
    features = TfidfVectorizer(
        tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 2), sublinear_tf=True
    )
    return make_pipeline(features, head).fit(joined(train), train.labels)


def bag_of_pairs(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """Predictions of a linear model on what the texts of a pair share; each split (n,). A majority as bag_of_words.

    Read are TF-IDF of both texts apart and of their shared words, the cosine of both, and how many words they have and
    share; then logistic regression or ridge. A bag of words reads a pair as one text, and cannot see what it shares.
    """
    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, joined(train))):
        return majority(data, splits)
    features = PairFeatures(train)
    head.fit(features.of(train), train.labels)
    return {split: np.asarray(head.predict(features.of(data.splits[split]))) for split in splits}


class PairFeatures:
    """Features of the pairs of a split for `bag_of_pairs`, scaled as in train."""

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


def bag_of_pairs_2(
    data: TaskData, splits: Sequence[str], *, for_test: bool = False, facts: Facts | None = None
) -> dict[str, np.ndarray]:
    """Predictions of a linear model on twelve numbers of a pair; each split (n,). A majority as bag_of_words.

    It has one weight a number and so none of a word: it learns how much the texts share.
    """
    train = data.splits["train"]
    head = text_kind(data.task).linear_model(train.labels, TEST_TOLERANCE if for_test else TOLERANCE)
    if head is None or not any(map(WordTokenizer().tokenize, joined(train))):
        return majority(data, splits)
    numbers = PairNumbers(train)
    head.fit(numbers.of(train), train.labels)
    if facts is not None:
        facts["bytes"] = numbers.bytes + FLOAT_BYTES * head.coef_.size
    return {split: np.asarray(head.predict(numbers.of(data.splits[split]))) for split in splits}


class PairNumbers:
    """Twelve numbers of each pair of a split for `bag_of_pairs_2`, scaled as in train.

    They are `overlap_numbers`, then three cosines of TF-IDF: of words, of words without English stop words, and of
    n-grams of characters within words. Documents are the texts of train. Features are hashed, so that one that train
    lacks counts too, as the rarest of all: without it, the cosine would be of the other features alone.
    """

    def __init__(self, train: Split) -> None:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, HashingVectorizer, TfidfTransformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        def table(**features: Any) -> Any:
            counts = HashingVectorizer(**features, norm=None, alternate_sign=False, n_features=BUCKETS)
            return make_pipeline(counts, TfidfTransformer(sublinear_tf=True)).fit(texts)

        stop_words = sorted({word for phrase in ENGLISH_STOP_WORDS for word in PLAIN_WORDS.tokenize(phrase)})
        texts = [well_formed(text) for column in train.texts for text in column]
        words: dict[str, Any] = {"tokenizer": PLAIN_WORDS.tokenize, "token_pattern": None, "lowercase": False}
        self._tables = [
            table(**words), table(**words, stop_words=stop_words), table(analyzer="char_wb", ngram_range=CHARACTERS),
        ]  # fmt: skip
        self._scaler = StandardScaler().fit(self._unscaled(train))

    @property
    def bytes(self) -> int:
        """Bytes of the tables of idf, one each."""
        return BUCKETS * len(self._tables)

    def of(self, split: Split) -> np.ndarray:
        """The numbers of n pairs (n, 12)."""
        return np.asarray(self._scaler.transform(self._unscaled(split)))

    def _unscaled(self, split: Split) -> np.ndarray:
        columns = [[well_formed(text) for text in column] for column in split.texts]
        pairs = (map(table.transform, columns) for table in self._tables)
        cosines = [np.asarray(first.multiply(second).sum(axis=1)).ravel() for first, second in pairs]
        return np.column_stack([overlap_numbers(*columns), *cosines])


def overlap_numbers(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Nine numbers (n, 9) of how much each pair of n texts shares, in lower case.

    Of the sets of words without punctuation, then of all parts of four characters: what is shared over the root of the
    product of both sizes, and over all. Of the sets of words: what is shared over each size, and the logarithm of one
    more than each size. Last the difference of the lengths in characters over the longer one. What is over nothing is
    0; a text of fewer than four characters is one part.
    """
    numbers = np.zeros((len(first), 9))
    for row, texts in enumerate(zip(first, second, strict=True)):
        words = [set(PLAIN_WORDS.tokenize(text)) for text in texts]
        parts = [_parts(text.lower()) for text in texts]
        sizes, shared = [len(of_text) for of_text in words], len(words[0] & words[1])
        lengths = [len(text.lower()) for text in texts]
        numbers[row] = [
            *_shares(*words), *_shares(*parts), *(shared / max(1, size) for size in sizes), *np.log1p(sizes),
            abs(lengths[0] - lengths[1]) / max(1, *lengths),
        ]  # fmt: skip
    return numbers


def _parts(text: str) -> set[str]:
    return {text[at : at + GRAM] for at in range(max(1, len(text) - GRAM + 1))} - {""}


def _shares(first: set[str], second: set[str]) -> tuple[float, float]:
    """How many elements two sets share, over the root of the product of their sizes and over the size of the union."""
    shared = len(first & second)
    return shared / max(1.0, np.sqrt(len(first) * len(second))), shared / max(1, len(first | second))


def hashed_words(
    data: TaskData, splits: Sequence[str], *, bytes: int = HASHED_BYTES, for_test: bool = False,
    facts: Facts | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Predictions of a linear model on hashed words in int8; each split (n,). A majority as bag_of_words."""
    model = fitted_hashed_words(data, bytes)
    if model is None:
        return majority(data, splits)
    if facts is not None:
        facts["bytes"] = model.weights.size
    return {split: model.predict(joined(data.splits[split])) for split in splits}


# By their stored names; baselines of pairs take pairs only
BASELINES = {
    MAJORITY: majority,
    BAG_OF_WORDS: bag_of_words,
    HASHED_WORDS: hashed_words,
    BAG_OF_PAIRS: bag_of_pairs,
    BAG_OF_PAIRS_2: bag_of_pairs_2,
}


LARGEST_WEIGHT = 127  # of the integers of weights


@dataclass(frozen=True)
class FittedWords:
    """A fitted model: int8 weights (k, n) of n buckets, scales (k,) and intercepts (k,) of k outputs, and classes."""

    pairs: bool  # whether pairs of neighbouring words are read beside words
    weights: np.ndarray
    scales: np.ndarray
    intercepts: np.ndarray
    classes: np.ndarray  # the ids of classes that train has; none for a regression
    multi_label: bool = False  # whether each output is a label by itself

    @classmethod
    def of(cls, linear: Any, pairs: bool) -> FittedWords:
        """A fitted linear model of scikit-learn in int8, with one scale for each output."""
        weights = np.atleast_2d(linear.coef_)
        scales = np.maximum(np.abs(weights).max(1), 1e-12) / LARGEST_WEIGHT
        rounded = np.round(weights / scales[:, None]).astype(np.int8)
        classes, several = getattr(linear, "classes_", np.array([])), getattr(linear, "multilabel_", False)
        return cls(pairs, rounded, scales, np.atleast_1d(linear.intercept_), classes, several)

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """The score of each output (m, k) for m texts."""
        values = bucket_values(texts, self.weights.shape[1], pairs=self.pairs)
        return np.asarray(values @ self.weights.T.astype(np.float64)) * self.scales + self.intercepts

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """The class ids (m,) of m texts, or the values of a regression; of several labels a row 1 for each (m, C)."""
        scores = self.scores(texts)
        if self.multi_label:
            return predicted_labels(scores)
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
    outputs = data.n_outputs if kind.multi_label else n_classes if n_classes > 2 else 1
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
    """The texts of a split; the two of a pair one behind the other."""
    return [" ".join(texts) for texts in zip(*split.texts, strict=True)]
