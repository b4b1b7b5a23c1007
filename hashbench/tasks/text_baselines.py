"""Floors: what a model must beat. The majority class, and words without order.

bag-of-words is TF-IDF over the suite's lower-cased words with punctuation runs, one and two of them at a time,
sublinear, then logistic regression (C = 10) or ridge. The texts of a pair are read one behind the other. A floor
selects nothing, so where a tenth of train is held out to select on, a test set is predicted from all of train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from hashbench.errors import InputError, near_match
from hashbench.tasks.own_data import HOLDOUT, reports_elsewhere
from hashbench.tasks.text_data import Split, TaskData
from hashbench.text.words import WordTokenizer

C = 10.0  # of the logistic regression
RIDGE_ALPHA = 1.0  # scikit-learn's own
MAX_ITERATIONS = 1_000
TOLERANCE = 1e-3  # ample for a floor, and half the time of scikit-learn's own on 400,000 rows
WHOLE_TOLERANCE = 1e-4  # scikit-learn's own, where the fit is for a test set: worth 0.4 points on AG News


def floor_predictions(name: str, data: TaskData, splits: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Predictions for splits (None: those that are evaluated): class ids int64 (n,), or values float64 (n,)."""
    if name not in FLOORS:
        raise InputError(f"unknown floor {name!r}{near_match(name, list(FLOORS))}; known are {', '.join(FLOORS)}")
    wanted = data.task.evaluation_splits if splits is None else splits
    if not reports_elsewhere(data.task):
        return FLOORS[name](data, wanted)
    held = FLOORS[name](data, [HOLDOUT]) if HOLDOUT in wanted else {}
    return held | FLOORS[name](_whole(data), [split for split in wanted if split != HOLDOUT], WHOLE_TOLERANCE)


def majority(data: TaskData, splits: Sequence[str], tolerance: float = TOLERANCE) -> dict[str, np.ndarray]:
    """The most frequent class of train, the smallest of several; the mean for a regression."""
    labels = data.splits["train"].labels
    constant = labels.mean(dtype=np.float64) if data.task.kind == "regression" else np.bincount(labels).argmax()
    return {split: np.full(len(data.splits[split]), constant) for split in splits}


def bag_of_words(data: TaskData, splits: Sequence[str], tolerance: float = TOLERANCE) -> dict[str, np.ndarray]:
    """Logistic regression or ridge on TF-IDF. Without a word in train, or with one class only, the majority."""
    train = data.splits["train"]
    regression = data.task.kind == "regression"
    if not any(map(WordTokenizer().tokenize, _joined(train))) or (not regression and len(np.unique(train.labels)) < 2):
        return majority(data, splits)
    features = TfidfVectorizer(
        tokenizer=WordTokenizer().tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 2), sublinear_tf=True
    )
    head = Ridge(RIDGE_ALPHA) if regression else LogisticRegression(C=C, max_iter=MAX_ITERATIONS, tol=tolerance)
    model = make_pipeline(features, head).fit(_joined(train), train.labels)
    return {split: np.asarray(model.predict(_joined(data.splits[split]))) for split in splits}


def _whole(data: TaskData) -> TaskData:
    """The task with the held-out rows back in train."""
    kept, held = data.splits["train"], data.splits[HOLDOUT]
    texts = tuple([*one, *other] for one, other in zip(kept.texts, held.texts, strict=True))
    train = Split(texts, np.concatenate([kept.labels, held.labels]))
    return replace(data, splits={**data.splits, "train": train})


def _joined(split: Split) -> list[str]:
    return [" ".join(texts) for texts in zip(*split.texts, strict=True)]


FLOORS: dict[str, Callable[..., dict[str, np.ndarray]]] = {
    "majority": majority,
    "bag-of-words": bag_of_words,
}
