"""Correlations of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.scores.base import DrawScorer, Metric, SummedMetric, UndefinedScore
from hashbench.scores.ranks import Ranked, drawn_spearman

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

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and values (n,); raises UndefinedScore where a side is constant."""
        from scipy import stats

        return float(stats.pearsonr(*_varying(targets, outputs)).statistic)

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Both sides with mean 0 and deviation 1, so that differences of sums keep their digits; products.

        Targets (n,) and values (n,) -> (n, 5).
        """
        x, y = _standard(targets), _standard(outputs.reshape(len(targets)))
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
        """The score of targets (n,) and values (n,); raises UndefinedScore where a side is constant."""
        from scipy import stats

        return float(stats.spearmanr(*_varying(targets, outputs)).statistic)

    def scorer(self, targets: np.ndarray, outputs: Sequence[np.ndarray], units: np.ndarray | None = None) -> DrawScorer:
        """Targets (n,) and each run's values (n,); ranks are taken anew in every draw. Raises ValueError for units."""
        if units is not None:
            raise ValueError("spearman is not drawn by units")
        real, ours = Ranked.of(targets), [Ranked.of(values.reshape(len(targets))) for values in outputs]
        return DrawScorer(len(targets), RANK_CELLS, lambda counts: drawn_spearman(counts, real, ours))


def _varying(targets: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sides, (n,) and (n,), as float64 (n,), neither of them constant."""
    sides = {"targets": np.asarray(targets, np.float64), "predictions": np.asarray(outputs, np.float64).reshape(-1)}
    for name, values in sides.items():
        if len(values) < 2 or (values == values[0]).all():
            raise UndefinedScore(f"the {name} are constant")
    return sides["targets"], sides["predictions"]


def _standard(values: np.ndarray) -> np.ndarray:
    """Values (n,) -> (n,) with mean 0 and deviation 1; zeros for a constant."""
    if (values == values[0]).all():
        return np.zeros(len(values))
    centred = values.astype(np.float64) - values.mean(dtype=np.float64)
    return centred / centred.std()


METRICS = (Pearson(), Spearman())
