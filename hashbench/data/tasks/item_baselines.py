"""Trivial baselines of hidden items: the most linked items, and those nearest to the context. They need no training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hashbench.data.tasks.items import LinkSet
from hashbench.models.coders.coherent import co_occurrence

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import HiddenItems
    from hashbench.data.tasks.link_batches import Cases

CELLS = 1 << 24  # scores that exist at a time


def popularity(links: LinkSet, cases: HiddenItems) -> np.ndarray:
    """Ranks (n,) where all contexts get the same answer: items by links on training pages, which is their number."""
    return cases.targets + 1


def nearest(links: LinkSet, cases: Cases) -> np.ndarray:
    """Ranks (n,) by the sum, over the items of the context, of the cosine of the training pages that link to both.

    Ties go to the more frequent item, as everywhere.
    """
    n_items = len(links.items)
    together = co_occurrence(links.links_of("train"), n_items)  # (N, N)
    from scipy import sparse

    scale = sparse.diags_array(1.0 / np.sqrt(np.maximum(links.items.counts, 1)))
    similarity = (scale @ together @ scale).tocsr()
    ranks = np.empty(len(cases), np.int64)
    step = max(1, CELLS // n_items)
    for start in range(0, len(cases), step):
        rows = np.arange(start, min(start + step, len(cases)))
        ids = cases.contexts(rows)
        row, column = np.nonzero(ids >= 0)
        ones = np.ones(len(row))
        contexts = sparse.csr_matrix((ones, (row, ids[row, column])), shape=(len(rows), n_items))
        ranks[rows] = ranks_of((contexts @ similarity).toarray(), cases.targets[rows])
    return ranks


def ranks_of(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Rank (n,) of the target (n,) among scores (n, N): 1 + those above it, and equal ones with a lower number.

    >>> ranks_of(np.array([[0.5, 0.9, 0.5]]), np.array([2])).tolist()
    [3]
    """
    of_targets = np.take_along_axis(scores, targets[:, None], axis=1)
    earlier = np.arange(scores.shape[1]) < targets[:, None]
    return 1 + ((scores > of_targets) | ((scores == of_targets) & earlier)).sum(axis=1)
