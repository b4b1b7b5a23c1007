"""Coherent hashing (Superbloom, appendix C): a map whose buckets hold items that occur together.

Item vectors are chosen here, since the paper names no factorisation: positive pointwise mutual information of the links
of training pages, truncated SVD to 64 dimensions, unit norm. Buckets are filled as the paper says: in decreasing
frequency each item that has no place opens a bucket and takes its alpha - 1 nearest items without a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hashbench.models.text.types import TokenizedTexts

# scipy is imported where it is used: the other coders are listed with this file and need none.
if TYPE_CHECKING:
    from scipy import sparse

# Of the vectors. Chosen here, as the factorisation is.
DIMENSIONS = 64
# Of the vector that the iteration of the decomposition begins with.
START_SEED = 0


def co_occurrence(links: TokenizedTexts, n_items: int) -> sparse.csr_matrix:
    """The number of pages on which two items occur together (N, N), 0 on the diagonal."""
    from scipy import sparse

    ones = np.ones(len(links.ids), np.float64)
    pages = sparse.csr_matrix((ones, links.ids, links.offsets), shape=(len(links), n_items))  # (pages, N)
    together = (pages.T @ pages).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    return together


def positive_information(together: sparse.csr_matrix) -> sparse.csr_matrix:
    """Positive pointwise mutual information of counts (N, N): max(0, log(n_ij n / (n_i n_j)))."""
    from scipy import sparse

    cells = together.tocoo()
    of_item = np.asarray(together.sum(axis=1)).ravel()  # (N,)
    values = np.log(cells.data * of_item.sum() / (of_item[cells.row] * of_item[cells.col]))
    kept = values > 0
    return sparse.csr_matrix((values[kept], (cells.row[kept], cells.col[kept])), shape=together.shape)


def item_vectors(links: TokenizedTexts, n_items: int, dim: int = DIMENSIONS) -> np.ndarray:
    """Unit vectors (N, dim) float32 of the items; zeros for one that never occurs beside another."""
    from scipy.sparse.linalg import svds

    information = positive_information(co_occurrence(links, n_items))
    # The iterative decomposition needs more items than dimensions.
    if n_items <= dim + 1:
        vectors_of_rows, values, _ = np.linalg.svd(information.toarray())
    else:
        start = np.random.RandomState(START_SEED).uniform(size=n_items)
        vectors_of_rows, values, _ = svds(information, k=dim, v0=start)
    vectors = vectors_of_rows[:, : len(values)] * np.sqrt(values)  # (N, dim)
    # Else the rounding of an item without neighbours would count.
    vectors[np.diff(information.indptr) == 0] = 0.0
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def coherent_map(vectors: np.ndarray, alpha: int, before: np.ndarray | None = None) -> np.ndarray:
    """Bucket (N,) int64 of each item, near items together.

    `vectors` (N, dim) in decreasing frequency. `before` (N,): no two items of one bucket there may share one here;
    where no other item is left, the nearest one is taken all the same.
    """
    n = len(vectors)
    buckets, bucket = np.full(n, -1, np.int64), 0
    # Items that may still be without a place, and their vectors.
    rest, open_vectors = np.arange(n), vectors
    for opener in range(n):
        if buckets[opener] >= 0:
            continue
        buckets[opener] = bucket
        free = buckets[rest] < 0
        if free.sum() * 2 < len(rest):
            rest, open_vectors = rest[free], open_vectors[free]
            free = np.ones(len(rest), bool)
        nearness = np.where(free, open_vectors @ vectors[opener], -np.inf)
        buckets[_nearest(nearness, rest, alpha - 1, opener, before)] = bucket
        bucket += 1
    return buckets


def _nearest(nearness: np.ndarray, rest: np.ndarray, wanted: int, opener: int, before: np.ndarray | None) -> np.ndarray:
    """The `wanted` nearest items (k,) that the constraint admits, filled up with refused ones.

    `nearness` (r,) and the items `rest` (r,) it speaks of; `before` (N,) as in `coherent_map`.
    """
    wanted = min(wanted, int(np.isfinite(nearness).sum()))
    if wanted == 0:
        return np.zeros(0, np.int64)
    if before is None:
        best = np.argpartition(-nearness, wanted - 1)[:wanted]
        return np.asarray(rest[best])
    taken = {int(before[opener])}
    chosen: list[int] = []
    refused: list[int] = []
    for place in np.argsort(-nearness, kind="stable"):
        if len(chosen) == wanted or nearness[place] == -np.inf:
            break
        item = int(rest[place])
        if int(before[item]) in taken:
            refused.append(item)
        else:
            taken.add(int(before[item]))
            chosen.append(item)
    return np.array([*chosen, *refused[: wanted - len(chosen)]], np.int64)
