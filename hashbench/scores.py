"""Scores of stored predictions, by scikit-learn and scipy. A score that is undefined is missing, with its reason.

A metric is a function of targets (n,) and outputs, class ids or values (n,) or logits (n, C), to a float in its natural
range; of every metric more is better. Two spreads have two names: over seeds (mean, standard deviation, n: made in
the report) and over examples (`bootstrap_interval`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats
from sklearn import metrics as sklearn_metrics

from hashbench.errors import InputError, near_match

Metric = Callable[[np.ndarray, np.ndarray], float]


class UndefinedScore(ValueError):
    """These data have no value of the metric; the text says why."""


@dataclass(frozen=True)
class Score:
    """A score in full precision, or the reason why there is none."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval over examples."""

    low: float
    high: float
    undefined_draws: int  # draws on which the metric had no value; they are left out


def accuracy(targets: np.ndarray, outputs: np.ndarray) -> float:
    """Share of right classes.

    >>> accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """
    return float(sklearn_metrics.accuracy_score(targets, predicted_classes(outputs)))


def f1(targets: np.ndarray, outputs: np.ndarray) -> float:
    """F1 of class 1, of two classes; undefined where class 1 is neither there nor predicted.

    >>> f1(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # precision 1, recall 1/2
    0.6666666666666666
    """
    predicted = predicted_classes(outputs)
    if not (targets == 1).any() and not (predicted == 1).any():
        raise UndefinedScore("class 1 is neither in the targets nor predicted")
    return float(sklearn_metrics.f1_score(targets, predicted, labels=[1], average="micro", zero_division=0.0))


def f1_macro(targets: np.ndarray, outputs: np.ndarray) -> float:
    """Mean of the F1 of each class that occurs in the targets or the predictions.

    >>> f1_macro(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # (4/5 + 2/3) / 2
    0.7333333333333334
    """
    return float(sklearn_metrics.f1_score(targets, predicted_classes(outputs), average="macro", zero_division=0.0))


def matthews(targets: np.ndarray, outputs: np.ndarray) -> float:
    """Matthews correlation; 0 by definition where predictions or targets are constant.

    >>> matthews(np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1]))
    0.0
    """
    return float(sklearn_metrics.matthews_corrcoef(targets, predicted_classes(outputs)))


def pearson(targets: np.ndarray, outputs: np.ndarray) -> float:
    """Pearson correlation; undefined where a side is constant.

    >>> round(pearson(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0])), 6)
    0.928571
    """
    return float(stats.pearsonr(*_varying(targets, outputs)).statistic)


def spearman(targets: np.ndarray, outputs: np.ndarray) -> float:
    """Spearman rank correlation, ties with their mean rank; undefined where a side is constant.

    >>> round(spearman(np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 4.0])), 6)
    0.5
    """
    return float(stats.spearmanr(*_varying(targets, outputs)).statistic)


METRICS: dict[str, Metric] = {
    function.__name__: function for function in (accuracy, f1, f1_macro, matthews, pearson, spearman)
}
METRIC_KINDS: dict[str, Literal["classification", "regression"]] = {
    name: "regression" if name in ("pearson", "spearman") else "classification" for name in METRICS
}


def find_metric(name: str) -> Metric:
    """The named metric.

    Raises:
        InputError: there is none of this name.
    """
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}{near_match(name, list(METRICS)) or f'; known are {_known()}'}")
    return METRICS[name]


def evaluate(metrics: Sequence[str], targets: np.ndarray, outputs: np.ndarray) -> dict[str, Score]:
    """Each metric's score of targets (n,) and outputs (n,) or (n, C); undefined ones with their reason."""
    return {name: _score(find_metric(name), np.asarray(targets), np.asarray(outputs)) for name in metrics}


def bootstrap_interval(
    metric: str,
    targets: np.ndarray,
    outputs: np.ndarray,
    *,
    draws: int = 1_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Percentile interval of a score over examples drawn with replacement; None where no draw has a value."""
    function, random = find_metric(metric), np.random.RandomState(seed)
    scores = []
    for _ in range(draws):
        rows = random.randint(0, len(targets), len(targets))
        scores.append(_score(function, targets[rows], outputs[rows]).value)
    values = [value for value in scores if value is not None]
    if not values:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high), draws - len(values))


def predicted_classes(outputs: np.ndarray) -> np.ndarray:
    """Class ids (n,) from logits (n, C), the first maximum, or from class ids (n,)."""
    return outputs.argmax(axis=1) if outputs.ndim == 2 else outputs


def _score(function: Metric, targets: np.ndarray, outputs: np.ndarray) -> Score:
    if len(targets) == 0:
        return Score(None, "no examples")
    if not np.isfinite(outputs).all():
        return Score(None, "a prediction is not a finite number")
    try:
        return Score(function(targets, outputs))
    except UndefinedScore as error:
        return Score(None, str(error))


def _varying(targets: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as float64 (n,), neither of them constant."""
    sides = {"targets": np.asarray(targets, np.float64), "predictions": np.asarray(outputs, np.float64).reshape(-1)}
    for name, values in sides.items():
        if len(values) < 2 or (values == values[0]).all():
            raise UndefinedScore(f"the {name} are constant")
    return sides["targets"], sides["predictions"]


def _known() -> str:
    return ", ".join(METRICS)
