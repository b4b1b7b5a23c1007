"""Scores of rankings with one right item: recall at k, mean reciprocal rank.

A case is one hidden link of a page. Stored outputs of a run are int32 columns (n, 3 + m): the page, the rank of the
right item (1 is best, 0: beyond what was ranked), 1 where the ranking was certified, and for each map 1 where its
best bucket was the right one. Targets are items, numbered by decreasing training frequency.
"""

from __future__ import annotations

import numpy as np

PAGE, RANK, CERTIFIED, TOKENS = range(4)
RECALLS = (1, 10, 20)  # of the paper's tables
TENTHS = 10


def recall_at(k: int, ranks: np.ndarray) -> np.ndarray:
    """1 where the right item is among the first k, else 0: (n,) float64.

    >>> recall_at(10, np.array([1, 10, 11, 0])).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    return ((ranks > 0) & (ranks <= k)).astype(np.float64)


def reciprocal(ranks: np.ndarray) -> np.ndarray:
    """1 / rank, 0 for an item beyond the ranking: (n,) float64."""
    return np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0)


def per_case(metric: str, outputs: np.ndarray) -> np.ndarray:
    """A metric of each case (n,), whose mean is the metric: rec@K, mrr, token_rec@1 (mean over maps), certified.

    >>> float(per_case("rec@1", np.array([[0, 1, 1, 1], [0, 2, 1, 0]])).mean())
    0.5
    """
    if metric.startswith("rec@"):
        return recall_at(int(metric.removeprefix("rec@")), outputs[:, RANK])
    if metric == "mrr":
        return reciprocal(outputs[:, RANK])
    if metric == "token_rec@1":
        return outputs[:, TOKENS:].mean(axis=1)
    if metric == "certified":
        return outputs[:, CERTIFIED].astype(np.float64)
    raise ValueError(f"no metric {metric!r} of rankings")


def tenths(targets: np.ndarray) -> np.ndarray:
    """Which tenth (n,) 0..9 of the cases each belongs to by the training frequency of its item, most frequent first.

    Tenths have equal numbers of CASES (figure 3); cases of one item may fall into two neighbouring ones.
    """
    order = np.argsort(targets, kind="stable")
    found = np.empty(len(targets), np.int64)
    found[order] = np.arange(len(targets)) * TENTHS // max(1, len(targets))
    return found


def page_mean(values: np.ndarray, pages: np.ndarray) -> float:
    """The mean over pages of the mean over their cases: what one case a page, as the paper draws it, expects.

    >>> page_mean(np.array([1.0, 0.0, 0.0]), np.array([7, 7, 8]))
    0.25
    """
    _, page = np.unique(pages, return_inverse=True)
    return float((np.bincount(page, values) / np.bincount(page)).mean())
