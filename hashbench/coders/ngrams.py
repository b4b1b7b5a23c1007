"""Bags of character n-grams, the features of the paper's LSH (Xue and Aletras 2022, section 3.3): n = 1..4, counted.

The dictionary holds the most frequent n-grams of a corpus. Ours, where the paper is silent: weighted by how often each
type occurs, no boundary markers, ranked by (count descending, code points); n-grams outside it are dropped.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from hashbench.coders.ngram_kernels import build_lookup, count_ngrams, find_features, key_columns
from hashbench.text.compiled import use_numba
from hashbench.text.types import TypeTable
from hashbench.text.unicode import offsets_from

LONGEST = 4  # characters of an n-gram
# Ids (m,) int32, weights (m,) float64, bounds (n + 1,) int64.
Features = tuple[np.ndarray, np.ndarray, np.ndarray]


class NgramFeatures:
    """Feature f of a type = how often the n-gram of rank f occurs in it."""

    def __init__(self, max_features: int) -> None:
        self.max_features = max_features
        self.ngrams: np.ndarray | None = None  # (features, 4) int32: code point + 1, 0 behind the end
        self._lookup: np.ndarray | None = None
        self._ranks: dict[str, int] = {}

    def __len__(self) -> int:
        return 0 if self.ngrams is None else len(self.ngrams)

    def fit(self, types: TypeTable) -> None:
        """The most frequent n-grams of the corpus that the types come from."""
        columns, counts = _counted(types) if use_numba() else _counted_plainly(types)
        self.restore(_most_frequent(columns, counts, self.max_features))

    def restore(self, ngrams: np.ndarray) -> None:
        """Take a dictionary (features, 4) that was fitted before."""
        self.ngrams = np.ascontiguousarray(ngrams, dtype=np.int32).reshape(-1, LONGEST)
        if use_numba():
            self._lookup = build_lookup(self.ngrams)
        else:
            self._ranks = {spelled(row): rank for rank, row in enumerate(self.ngrams)}

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> their features (m,), ids ascending within a type."""
        if self._lookup is not None:
            ids, weights, bounds = find_features(blob, np.asarray(offsets, dtype=np.int64), self._lookup)
            return ids[: bounds[-1]], weights[: bounds[-1]], bounds
        ends = zip(offsets[:-1], offsets[1:], strict=True)
        return laid_out([self._plainly(blob[a:b].tobytes().decode()) for a, b in ends])

    def _plainly(self, string: str) -> dict[int, float]:
        found = Counter(self._ranks[ngram] for ngram in ngrams_of(string) if ngram in self._ranks)
        return {rank: float(count) for rank, count in found.items()}


def ngrams_of(string: str) -> list[str]:
    """All n-grams of a string, n = 1..4.

    >>> ngrams_of("cat")
    ['c', 'a', 't', 'ca', 'at', 'cat']
    """
    return [string[i : i + n] for n in range(1, LONGEST + 1) for i in range(len(string) - n + 1)]


def spelled(row: np.ndarray) -> str:
    """A row (n,) of the dictionary as a string."""
    return "".join(chr(point - 1) for point in row.tolist() if point)


def laid_out(per_type: list[dict[int, float]]) -> Features:
    """Features of each type -> the three arrays, ids ascending within a type."""
    pairs = [pair for features in per_type for pair in sorted(features.items())]
    ids = np.array([i for i, _ in pairs], dtype=np.int32)
    weights = np.array([weight for _, weight in pairs], dtype=np.float64)
    return ids, weights, offsets_from([len(features) for features in per_type])


def _most_frequent(columns: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """N-grams (n, 4) and counts -> the first `most` by (count descending, code points)."""
    if len(counts) > most:  # sort only what can be among them: ties at the cut are all kept here
        enough = counts >= np.partition(counts, len(counts) - most)[len(counts) - most]
        columns, counts = columns[enough], counts[enough]
    # a 0 behind the end sorts a prefix before what it begins, as strings do
    order = np.lexsort((columns[:, 3], columns[:, 2], columns[:, 1], columns[:, 0], -counts))
    return columns[order[:most]]


def _counted(types: TypeTable) -> tuple[np.ndarray, np.ndarray]:
    """N-grams (n, 4) of a table and how often each occurs in its corpus."""
    blob, offsets, counts = np.asarray(types.blob), np.asarray(types.offsets), np.asarray(types.counts)
    keys, sums = count_ngrams(blob, offsets, counts)
    return key_columns(keys), sums


def _counted_plainly(types: TypeTable) -> tuple[np.ndarray, np.ndarray]:
    """The same (n, 4) without a compiler."""
    sums: Counter[str] = Counter()
    for string, count in zip(types.strings(), types.counts.tolist(), strict=True):
        for ngram in ngrams_of(string):
            sums[ngram] += count
    columns = np.zeros((len(sums), LONGEST), dtype=np.int32)
    for i, ngram in enumerate(sums):
        columns[i, : len(ngram)] = [ord(character) + 1 for character in ngram]
    return columns, np.fromiter(sums.values(), dtype=np.int64, count=len(sums))
