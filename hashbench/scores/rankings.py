"""Scores of rankings with one right item: recall at k, mean reciprocal rank.

A case is one hidden link of a page. Stored outputs of a run are int32 columns (n, 3 + m): the page, the rank of the
right item (1 is best, 0: beyond what was ranked), 1 where the ranking was certified, and for each map 1 where its
best bucket was the right one. Targets are items, numbered by decreasing training frequency.
"""

from __future__ import annotations

import copy
from abc import abstractmethod

import numpy as np

from hashbench.scores.base import Metric, SummedMetric

PAGE, RANK, CERTIFIED, TOKENS = range(4)
RECALLS = (1, 10, 20)  # of the paper's tables
DECILES = 10
# Begins the stored condition that only cases of one decile count
DECILE = "tenth="


class RankingMetric(SummedMetric):
    """The mean of a value over all cases, or over the cases of one decile by frequency."""

    outputs = "rankings"
    unit = "page"
    undefined = "no case belongs to this decile"
    trained_only = False  # whether a trivial baseline has no such value
    by_decile = False  # whether it is stored for each decile and with the same weight for all pages too

    def __init__(self, decile: int | None = None) -> None:
        """`decile`: 1 to 10; None: all cases."""
        self.decile = decile

    @abstractmethod
    def of_cases(self, outputs: np.ndarray) -> np.ndarray:
        """The value of each case: (n, 3 + m) -> (n,)."""

    def is_constant(self, outputs: np.ndarray) -> bool:
        """False, since outputs (n, 3 + m) hold ranks of the right items, and not what was predicted."""
        return False

    def units(self, outputs: np.ndarray) -> np.ndarray:
        """The page of each case: (n, 3 + m) -> (n,)."""
        pages: np.ndarray = outputs[:, PAGE]
        return pages

    def under(self, condition: str) -> Metric | None:
        """The metric of the cases of one decile, as "tenth=3"."""
        _, is_decile, decile = condition.partition(DECILE)
        if not is_decile or decile not in map(str, range(1, DECILES + 1)):
            return None
        metric = copy.copy(self)
        metric.decile = int(decile)
        return metric

    def by_condition(self, targets: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Scores by condition: of all cases; with `by_decile` also the mean over pages, and of deciles with cases."""
        if self.trained_only and outputs.shape[1] == TOKENS:
            return {}
        values = self.of_cases(outputs)  # (n,)
        scores = {"": float(values.mean())}
        if not self.by_decile:
            return scores
        scores["pages alike"] = page_mean(values, outputs[:, PAGE])
        part = deciles(targets)
        of_deciles = {f"{DECILE}{decile + 1}": values[part == decile] for decile in range(DECILES)}
        return scores | {condition: float(some.mean()) for condition, some in of_deciles.items() if len(some)}

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The values of the cases that count, and whether they do: (n,), (n, 3 + m) -> (n, 2)."""
        counted = self._counted(targets)
        return np.stack([np.where(counted, self.of_cases(outputs), 0.0), counted], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Cases (draws,) and sums (draws, 2) -> scores (draws,), NaN where no case counts."""
        return np.divide(sums[:, 0], sums[:, 1], out=np.full(len(n), np.nan), where=sums[:, 1] > 0)

    def _counted(self, targets: np.ndarray) -> np.ndarray:
        """Which cases count: targets (n,) -> (n,) bool."""
        return np.ones(len(targets), bool) if self.decile is None else deciles(targets) == self.decile - 1


class Recall(RankingMetric):
    """Share of the cases whose right item is among the first k.

    >>> Recall(1).score(np.zeros(2), np.array([[0, 1, 1, 1], [0, 2, 1, 0]]))
    0.5
    """

    by_decile = True

    def __init__(self, k: int, decile: int | None = None) -> None:
        super().__init__(decile)
        self.k, self.name = k, f"rec@{k}"

    def of_cases(self, outputs: np.ndarray) -> np.ndarray:
        """1 where the right item is among the first k: (n, 3 + m) -> (n,)."""
        return recall_at(self.k, outputs[:, RANK])

    def right(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Which right items are among the first k: (n,), (n, 3 + m) -> (n,) bool."""
        return self.of_cases(outputs) > 0


class ReciprocalRank(RankingMetric):
    """Mean of 1 / rank, 0 for an item beyond the ranking."""

    name = "mrr"
    by_decile = True

    def of_cases(self, outputs: np.ndarray) -> np.ndarray:
        """1 / rank, 0 beyond the ranking: (n, 3 + m) -> (n,)."""
        ranks = outputs[:, RANK]
        return np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0)


class TokenRecall(RankingMetric):
    """Share of all pairs of case and hash map in which the best bucket holds the right item."""

    name = "token_rec@1"
    trained_only = True

    def of_cases(self, outputs: np.ndarray) -> np.ndarray:
        """Share of the maps in which the best bucket of a case is the right one: (n, 3 + m) -> (n,)."""
        return outputs[:, TOKENS:].mean(axis=1)

    def by_condition(self, targets: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Scores by condition: over all maps, and of each map."""
        maps = {f"map={j + 1}": float(outputs[:, TOKENS + j].mean()) for j in range(outputs.shape[1] - TOKENS)}
        return super().by_condition(targets, outputs) | maps


class Certified(RankingMetric):
    """Share of the cases whose ranking is certain to equal a full search's."""

    name = "certified"
    trained_only = True

    def of_cases(self, outputs: np.ndarray) -> np.ndarray:
        """1 where the ranking is certain to equal a full search's: (n, 3 + m) -> (n,)."""
        return outputs[:, CERTIFIED].astype(np.float64)


def recall_at(k: int, ranks: np.ndarray) -> np.ndarray:
    """1 where the right item is among the first k, else 0: (n,) -> (n,) float64.

    >>> recall_at(10, np.array([1, 10, 11, 0])).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    return ((ranks > 0) & (ranks <= k)).astype(np.float64)


def deciles(targets: np.ndarray) -> np.ndarray:
    """Which decile (n,) 0..9 of the cases each belongs to by the training frequency of its item, most frequent first.

    Deciles have equal numbers of CASES (figure 3); cases of one item may fall into two neighbouring ones. (n,) -> (n,).
    """
    order = np.argsort(targets, kind="stable")
    decile = np.empty(len(targets), np.int64)
    decile[order] = np.arange(len(targets)) * DECILES // max(1, len(targets))
    return decile


def page_mean(values: np.ndarray, pages: np.ndarray) -> float:
    """The mean over pages of the mean over their cases, (n,) and (n,): the expected mean of one random case a page.

    >>> page_mean(np.array([1.0, 0.0, 0.0]), np.array([7, 7, 8]))
    0.25
    """
    _, page = np.unique(pages, return_inverse=True)
    return float((np.bincount(page, values) / np.bincount(page)).mean())


METRICS = (*map(Recall, RECALLS), ReciprocalRank(), TokenRecall(), Certified())
