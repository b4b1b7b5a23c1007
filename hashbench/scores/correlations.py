"""Correlations of values.

Spearman's takes ranks anew in every draw, without sorting anew: examples are sorted once, and in a draw the mean rank
of a value is the number of drawn examples below it, plus half of those that share it. Counts laid out by
(example, draw) make that a running sum down the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.scores.base import DrawScorer, Metric, SummedMetric, UndefinedScore

CONSTANT = 1e-12  # share of a sum of squares that is rounding alone
# Counts in a block: ranks take a dozen passes over it, and it then stays in the cache
RANK_CELLS = 60_000


class Pearson(SummedMetric):
    """Pearson correlation; undefined where a side is constant.

    >>> round(Pearson().score(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0])), 6)
    0.928571
    """

    name = "pearson"
    outputs = "values"
    of_constant = 0.0  # a constant correlates with nothing

    def why_undefined(self, targets: np.ndarray) -> str:
        """The reason why there is no score: which side is constant."""
        return constant_side(targets)

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Both sides scaled to mean 0 and deviation 1 (so that differences of sums keep their digits), and products.

        Targets (n,) and values (n,) -> (n, 5).
        """
        x, y = _standard(targets), _standard(outputs)
        return np.stack([x, y, x * y, x * x, y * y], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Examples (draws,) and sums (draws, 5) -> scores (draws,), NaN where a side is constant."""
        x, y, xy, xx, yy = sums.T
        spread_x, spread_y = xx - x * x / n, yy - y * y / n
        varies = (spread_x > CONSTANT * xx) & (spread_y > CONSTANT * yy)
        square = np.where(varies, spread_x * spread_y, 1.0)
        return np.where(varies, (xy - x * y / n) / np.sqrt(square), np.nan)


class Spearman(Metric):
    """Spearman rank correlation, ties with their mean rank; undefined where a side is constant.

    >>> round(Spearman().score(np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 4.0])), 6)
    0.5
    """

    name = "spearman"
    outputs = "values"
    of_constant = 0.0  # a constant correlates with nothing

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and values (n,): that of a draw that has each example once."""
        value = float(self.scorer(targets, [outputs]).scores(np.ones((1, len(targets))))[0, 0])
        if np.isnan(value):
            raise UndefinedScore(constant_side(targets))
        return value

    def scorer(self, targets: np.ndarray, outputs: Sequence[np.ndarray], units: np.ndarray | None = None) -> DrawScorer:
        """A scorer of targets (n,) and values (n,) of each run that ranks anew in every draw. ValueError for units."""
        if units is not None:
            raise ValueError("spearman is not drawn by units")
        real, predictions = Ranked.of(targets), [Ranked.of(values.reshape(len(targets))) for values in outputs]
        return DrawScorer(len(targets), RANK_CELLS, lambda counts: drawn_spearman(counts, real, predictions))


def constant_side(targets: np.ndarray) -> str:
    """Why there is no correlation of targets (n,) with predictions: which of the two is constant."""
    return f"the {'targets' if (targets == targets[0]).all() else 'predictions'} are constant"


def _standard(values: np.ndarray) -> np.ndarray:
    """Values (n,) -> (n,) with mean 0 and deviation 1; zeros for a constant."""
    if (values == values[0]).all():
        return np.zeros(len(values))
    centred = values.astype(np.float64) - values.mean(dtype=np.float64)
    return centred / centred.std()


@dataclass(frozen=True)
class Ranked:
    """Examples in the order of their values. `starts` (g,): where each of g distinct values begins in `order` (n,)."""

    order: np.ndarray
    starts: np.ndarray
    group: np.ndarray  # (n,) which distinct value an example has

    @classmethod
    def of(cls, values: np.ndarray) -> Ranked:
        """The examples ranked by their values (n,)."""
        _, group = np.unique(values, return_inverse=True)
        order = np.argsort(group, kind="stable")
        return cls(order, np.searchsorted(group[order], np.arange(group.max() + 1)), group)

    @property
    def is_distinct(self) -> bool:
        """True where no two examples share a value."""
        return len(self.starts) == len(self.order)

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Whole numbers in rows (n, draws) added up by distinct value, in ascending order: (g, draws)."""
        in_order = rows[self.order]
        if self.is_distinct:
            return in_order
        # Differences of running sums are exact, and faster than np.add.reduceat where most values are distinct
        np.cumsum(in_order, axis=0, out=in_order)
        upto = in_order[np.append(self.starts[1:], len(in_order)) - 1]
        return np.diff(upto, axis=0, prepend=0.0)


def drawn_spearman(counts: np.ndarray, real: Ranked, others: Sequence[Ranked]) -> np.ndarray:
    """Rank correlation of `real` with each of `others`: (len(others), draws), NaN where a side is constant in the draw.

    `counts` (draws, n) whole numbers, of equal sums. Sums stay whole or halves below 2**53, thus exact.
    """
    weights = np.ascontiguousarray(counts.T, np.float64)  # (n, draws)
    n = weights[:, 0].sum()
    ranks, square = _ranks(real.sums(weights), n)
    centred = weights * ranks[real.group]  # (n, draws); sums to 0 over the examples of a draw
    # The same in whatever order
    of_distinct = (centred * weights).sum(axis=0) / 2, _squares(weights, n)
    scores = np.full((len(others), weights.shape[1]), np.nan)
    for row, side in zip(scores, others, strict=True):
        if side.is_distinct:
            half, its_square = of_distinct
            shared = _dot(np.cumsum(weights[side.order], axis=0), centred[side.order]) - half
        else:
            its_ranks, its_square = _ranks(side.sums(weights), n)
            shared = _dot(its_ranks[side.group], centred)
        both = square * its_square
        np.divide(shared, np.sqrt(both), out=row, where=both > 0)
    return scores


def _ranks(drawn: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts of each value (g, draws) -> its mean rank less (n + 1) / 2 (g, draws), and their squares' sum (draws,).

    The sum is over examples.
    """
    ranks = np.cumsum(drawn, axis=0)
    ranks -= drawn / 2
    ranks -= n / 2
    return ranks, _squares(drawn, n)


def _squares(drawn: np.ndarray, n: float) -> np.ndarray:
    """Sum of squares of n centred ranks (draws,), of which `drawn` (g, draws) share each value."""
    return (n**3 - (drawn * drawn * drawn).sum(axis=0)) / 12


def _dot(ranks: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Sum of products down the rows of two (g, draws): (draws,). Overwrites `ranks`."""
    ranks *= others
    return ranks.sum(axis=0)


METRICS = (Pearson(), Spearman())
