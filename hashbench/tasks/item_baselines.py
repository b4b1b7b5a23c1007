"""Floors of hidden items: what needs no training. The most linked items, and the items nearest to the context."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from hashbench.coders.coherent import co_occurrence
from hashbench.tasks.blocks import Phrases
from hashbench.tasks.item_batches import HiddenItems
from hashbench.tasks.item_sets import LinkSet
from hashbench.tasks.link_batches import Cases
from hashbench.tasks.links import links_protocol
from hashbench.tasks.phrase_batches import HiddenPhrases

CELLS = 1 << 24  # scores that exist at a time
OUTPUTS = 3  # page, rank, certified


def link_floor(name: str, links: LinkSet, split: str = "test") -> tuple[np.ndarray, HiddenItems]:
    """Outputs (n, 3) int32 of a floor (page, rank, 0) on the cases of a split, which are those of models; the cases."""
    protocol = links.task.protocol
    if isinstance(protocol, Phrases):
        limit = protocol.test_sequences if split == "test" else protocol.validation_sequences
        phrases = HiddenPhrases(links, split, protocol, limit)
        return _outputs(phrases, popularity(phrases)), phrases
    cases = Cases(links.links_of(split), links.splits[split], links_protocol(links.task))
    return _outputs(cases, FLOORS[name](links, cases)), cases


def _outputs(cases: HiddenItems, ranks: np.ndarray) -> np.ndarray:
    outputs = np.zeros((len(cases), OUTPUTS), np.int32)
    outputs[:, 0], outputs[:, 1] = cases.page_rows, ranks
    return outputs


def popularity(cases: HiddenItems) -> np.ndarray:
    """Ranks (n,) where all contexts get the same answer: items by links on training pages, which is their number."""
    return cases.targets + 1


def nearest(links: LinkSet, cases: Cases) -> np.ndarray:
    """Ranks (n,) by the sum, over the items of the context, of the cosine of the training pages that link to both.

    Ties go to the more frequent item, as everywhere.
    """
    n_items = len(links.items)
    together = co_occurrence(links.links_of("train"), n_items)  # (N, N)
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
    """Rank (n,) of the target among scores (n, N): 1 + those above it, and equal ones with a lower number.

    >>> ranks_of(np.array([[0.5, 0.9, 0.5]]), np.array([2])).tolist()
    [3]
    """
    own = np.take_along_axis(scores, targets[:, None], axis=1)
    earlier = np.arange(scores.shape[1]) < targets[:, None]
    return 1 + ((scores > own) | ((scores == own) & earlier)).sum(axis=1)


FLOORS: dict[str, Callable[[LinkSet, Cases], np.ndarray]] = {
    "popularity": lambda links, cases: popularity(cases),
    "co-occurrence": nearest,
}
