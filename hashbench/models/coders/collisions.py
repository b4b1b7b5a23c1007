"""How well codes keep types apart: types that share a code, and words beside their misspellings."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder


def types_per_bucket(codes: np.ndarray) -> float | None:
    """Types per bucket that is in use, the mean over the columns of codes (n, c); None without types.

    Row numbers (int64) are buckets by column; of bits, sums and floats the whole code is the bucket.

    >>> types_per_bucket(np.array([[3], [3], [8]]))
    1.5
    """
    if not len(codes):
        return None
    columns = [codes[:, [j]] for j in range(codes.shape[1])] if codes.dtype == np.int64 else [codes]
    return float(np.mean([len(codes) / (_groups(column).max() + 1) for column in columns]))


def shared_tokens(codes: np.ndarray, counts: np.ndarray) -> float | None:
    """Share of the tokens, by the counts (n,) of their types, whose whole code (n, c) is that of another type too.

    >>> shared_tokens(np.array([[3], [3], [8]]), np.array([1, 1, 2]))
    0.5
    """
    if not len(codes):
        return None
    groups = _groups(codes)
    shared = np.bincount(groups)[groups] > 1  # (n,)
    return float(counts[shared].sum() / counts.sum())


def agreement(coder: Coder, first: np.ndarray, second: np.ndarray) -> float | None:
    """Mean agreement of codes (n, c) pair by pair: the share of equal bits or row numbers, or the cosine.

    The cosine is of features, sums and floats. None without pairs."""
    if not len(first):
        return None
    if coder.bits is not None:
        return float(1 - np.unpackbits(first ^ second, axis=1).mean())
    if first.dtype == np.int64:
        return float((first == second).mean())
    first_floats, other = (coder.comparable(codes).astype(np.float64) for codes in (first, second))
    norms = np.linalg.norm(first_floats, axis=1) * np.linalg.norm(other, axis=1)  # (n,)
    products = (first_floats * other).sum(axis=1)
    return float(np.divide(products, norms, out=np.zeros(len(first_floats)), where=norms > 0).mean())


def _groups(codes: np.ndarray) -> np.ndarray:
    """For each row of codes (n, c) the number of its group of equal rows, (n,), counted from 0."""
    rows = np.ascontiguousarray(codes)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    groups: np.ndarray = np.unique(whole, return_inverse=True)[1]
    return groups.ravel()
