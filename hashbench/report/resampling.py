"""Metrics of examples drawn with replacement, for all draws at once.

A draw of n examples is a vector of counts that sums to n. Class metrics need only the counts of the distinct
(target, prediction of each run) combinations, correlations those of the examples. Scoring a thousand draws one by one
would take minutes a table; the tests hold these forms equal to those of `hashbench.scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

CELLS = 2_000_000  # numbers in a block of draws: bounds the memory of correlations


def drawn_scores(
    metric: str, targets: np.ndarray, outputs: Sequence[np.ndarray], *, draws: int, seed: int
) -> np.ndarray | None:
    """The metric averaged over runs, for each draw: (draws,), NaN where it is undefined; None for an unknown metric.

    `targets` (n,), one array of `outputs` a run: class ids or values (n,), or logits (n, C). Runs share their draws.
    """
    generator = np.random.default_rng(seed)
    if metric in OF_CONFUSION:
        predicted = [one.argmax(axis=1) if one.ndim == 2 else one for one in outputs]
        tables = _confusions(targets, predicted, draws, generator)
        return np.mean([OF_CONFUSION[metric](table) for table in tables], axis=0)
    if metric in OF_WEIGHTS:
        values = [one.reshape(len(targets)) for one in outputs]
        return _correlations(OF_WEIGHTS[metric], targets, values, draws, generator)
    return None


def _confusions(
    targets: np.ndarray, predicted: Sequence[np.ndarray], draws: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """For each run the drawn counts (draws, k, k) by target and prediction; class ids 0..k-1."""
    joint, counts = np.unique(np.stack([targets, *predicted], axis=1).astype(np.int64), axis=0, return_counts=True)
    drawn = generator.multinomial(len(targets), counts / len(targets), size=draws)  # (draws, combinations)
    k = max(int(joint.max()) + 1, 2)
    tables = []
    for run in range(1, joint.shape[1]):
        place = np.zeros((len(joint), k * k))
        place[np.arange(len(joint)), joint[:, 0] * k + joint[:, run]] = 1
        tables.append((drawn @ place).reshape(draws, k, k))
    return tables


def _accuracy(table: np.ndarray) -> np.ndarray:
    return np.trace(table, axis1=1, axis2=2) / table.sum(axis=(1, 2))


def _class_f1(table: np.ndarray) -> np.ndarray:
    """F1 of every class (draws, k), NaN where it neither occurs nor is predicted."""
    both = table.sum(axis=2) + table.sum(axis=1)
    hits = np.diagonal(table, axis1=1, axis2=2)
    return np.divide(2 * hits, both, out=np.full(both.shape, np.nan), where=both > 0)


def _f1(table: np.ndarray) -> np.ndarray:
    return _class_f1(table)[:, 1]


def _f1_macro(table: np.ndarray) -> np.ndarray:
    return np.nanmean(_class_f1(table), axis=1)


def _matthews(table: np.ndarray) -> np.ndarray:
    """Gorodkin's form for any number of classes; 0 where a side is constant."""
    n = table.sum(axis=(1, 2))
    real, predicted = table.sum(axis=2), table.sum(axis=1)  # (draws, k)
    shared = np.trace(table, axis1=1, axis2=2) * n - (real * predicted).sum(axis=1)
    square = (n**2 - (real**2).sum(axis=1)) * (n**2 - (predicted**2).sum(axis=1))
    return np.divide(shared, np.sqrt(square), out=np.zeros(len(n)), where=square > 0)


def _correlations(
    correlate: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    targets: np.ndarray,
    outputs: Sequence[np.ndarray],
    draws: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """A correlation averaged over runs for each draw, a block of draws at a time."""
    n = len(targets)
    found = []
    block = max(1, CELLS // n)
    for start in range(0, draws, block):
        weights = generator.multinomial(n, np.full(n, 1 / n), size=min(block, draws - start)).astype(
            float
        )  # (draws, n)
        found.append(np.mean([correlate(weights, targets, one) for one in outputs], axis=0))
    return np.concatenate(found)


def _pearson(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weighted correlation (draws,) of x and y, each (n,) or (draws, n); NaN where a side is constant."""
    n = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / n  # (draws, n)
    y = y - (weights * y).sum(axis=1, keepdims=True) / n
    square = (weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1)
    shared = (weights * x * y).sum(axis=1)
    return np.divide(shared, np.sqrt(square), out=np.full(len(shared), np.nan), where=square > 0)


def _spearman(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _pearson(weights, _ranks(weights, x), _ranks(weights, y))


def _ranks(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Rank (draws, n) of each example among the drawn ones, ties with their mean rank."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)  # (draws, distinct values)
    return (np.cumsum(counts, axis=1) - counts + (counts + 1) / 2)[:, group]  # (draws, n)


OF_CONFUSION = {"accuracy": _accuracy, "f1": _f1, "f1_macro": _f1_macro, "matthews": _matthews}
OF_WEIGHTS = {"pearson": _pearson, "spearman": _spearman}
