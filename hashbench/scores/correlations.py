"""Correlations of values.

Spearman's takes ranks anew in every draw, without sorting anew: examples are sorted once, and in a draw the mean rank
of a value is the number of drawn examples below it, plus half of the examples that share it. Counts laid out by
(example, draw) make that a running sum down the rows. Ranks are counted twice, so that they are whole numbers: in
32 bits a running sum takes a third of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.scores.base import DrawScorer, Metric, SummedMetric, UndefinedScore

CONSTANT = 1e-12  # share of a sum of squares that is rounding alone
# Counts in a block: ranks take a dozen passes over it, and it then stays in the cache
RANK_CELLS = 250_000


class Pearson(SummedMetric):
    """Pearson correlation; undefined where a side is constant.

    >>> round(Pearson().score(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0])), 6)
    0.928571
    """

    name = "pearson"
    outputs = "values"
    least = -1.0
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
    least = -1.0
    of_constant = 0.0  # a constant correlates with nothing

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and values (n,), as of a draw that has each example once."""
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
    """Examples in the order of their values. `ends` (g,): where each of g distinct values ends in `order` (n,)."""

    order: np.ndarray
    ends: np.ndarray
    group: np.ndarray  # (n,) which distinct value an example has

    @classmethod
    def of(cls, values: np.ndarray) -> Ranked:
        """The examples ranked by their values (n,)."""
        _, group = np.unique(values, return_inverse=True)
        order = np.argsort(group, kind="stable")
        return cls(order, np.searchsorted(group[order], np.arange(group.max() + 1), side="right") - 1, group)

    @property
    def is_distinct(self) -> bool:
        """True where no two examples share a value."""
        return len(self.ends) == len(self.order)

    def twice_ranks(self, counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Twice the mean rank of each example less n + 1 (n, draws), and how often each value is drawn (g, draws).

        `counts` (n, draws): integers that can hold 2 n; every draw sums to n.
        """
        drawn = counts.take(self.order, axis=0)
        upto = _running_sums(drawn)
        if not self.is_distinct:
            upto = upto.take(self.ends, axis=0)  # (g, draws)
            drawn = np.diff(upto, axis=0, prepend=counts.dtype.type(0))
        ranks = 2 * upto
        ranks -= drawn
        ranks -= counts.dtype.type(n)
        return ranks.take(self.group, axis=0), drawn


def drawn_spearman(counts: np.ndarray, real: Ranked, others: Sequence[Ranked]) -> np.ndarray:
    """Rank correlation of `real` with each of `others`: (len(others), draws), NaN where a side is constant in the draw.

    `counts` (draws, n) whole numbers, of equal sums. Sums stay whole below 2**53, thus exact.
    """
    n = int(counts[0].sum())
    # The smallest integers that hold twice n: half of the time is in moving them
    of_examples = np.ascontiguousarray(counts.T, np.int16 if n < 2**14 else np.int32)  # (n, draws)
    ranks, drawn = real.twice_ranks(of_examples, n)
    square = _squares(drawn, n)
    weighted: np.ndarray = of_examples * ranks.astype(np.float64)  # (n, draws); sums to 0 over the examples of a draw
    of_distinct = _squares(of_examples, n)  # the same in whatever order
    scores = np.full((len(others), len(counts)), np.nan)
    for row, side in zip(scores, others, strict=True):
        ranks, drawn = side.twice_ranks(of_examples, n)
        shared = np.einsum("ij,ij->j", ranks, weighted) / 4
        both = square * (of_distinct if side.is_distinct else _squares(drawn, n))
        np.divide(shared, np.sqrt(both), out=row, where=both > 0)
    return scores


def _running_sums(rows: np.ndarray) -> np.ndarray:
    """The sum of each of (n, draws) integers and all rows before it, (n, draws), in a few calls on many rows each.

    >>> _running_sums(np.array([[1, 5], [2, 6], [3, 7]])).tolist()
    [[1, 5], [3, 11], [6, 18]]
    """
    n, draws = rows.shape
    of_block = math.isqrt(n)
    sums = np.zeros((-(-n // of_block), of_block, draws), rows.dtype)
    flat = sums.reshape(-1, draws)
    flat[:n] = rows
    for place in range(1, of_block):
        sums[:, place] += sums[:, place - 1]
    for block in range(1, len(sums)):
        sums[block] += sums[block - 1, -1]
    return flat[:n]


def _squares(drawn: np.ndarray, n: int) -> np.ndarray:
    """Sum of squares of n centred ranks (draws,); `drawn` (g, draws): how many ranks share each value."""
    counts = drawn.astype(np.float64)
    return (float(n) ** 3 - np.einsum("ij,ij,ij->j", counts, counts, counts)) / 12


METRICS = (Pearson(), Spearman())
