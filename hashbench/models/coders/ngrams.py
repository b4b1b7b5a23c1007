"""Bags of character n-grams, the features of the paper's LSH (Xue and Aletras 2022, section 3.3): n = 1..4, counted.

The dictionary holds the most frequent n-grams of a corpus. Chosen here, where the paper is silent: weighted by how
often each type occurs, no boundary markers, ranked by (count descending, code points); n-grams outside it are dropped.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.ngram_kernels import build_lookup, count_ngrams, find_features, key_columns
from hashbench.models.text.types import TypeTable

LONGEST = 4  # characters of an n-gram
# Ids (m,) int32, weights (m,) float64, bounds (n + 1,) int64.
Features = tuple[np.ndarray, np.ndarray, np.ndarray]


class NgramFeatures:
    """Sparse features of types: feature f counts how often the n-gram of rank f occurs in a type."""

    def __init__(self, max_features: int) -> None:
        self.max_features = max_features
        self.ngrams: np.ndarray | None = None  # (features, 4) int32: code point + 1, 0 behind the end
        self._lookup: np.ndarray | None = None

    def __len__(self) -> int:
        return 0 if self.ngrams is None else len(self.ngrams)

    def fit(self, types: TypeTable) -> None:
        """Learns the most frequent n-grams of the corpus that the types come from."""
        keys, sums = count_ngrams(np.asarray(types.blob), np.asarray(types.offsets), np.asarray(types.counts))
        self.restore(_most_frequent(key_columns(keys), sums, self.max_features))

    def restore(self, ngrams: np.ndarray) -> None:
        """Takes a dictionary of n-grams (features, 4) that was fitted before."""
        self.ngrams = np.ascontiguousarray(ngrams, dtype=np.int32).reshape(-1, LONGEST)
        self._lookup = build_lookup(self.ngrams)

    def strings(self) -> list[str]:
        """The n-grams in the order of their ranks."""
        rows = [] if self.ngrams is None else self.ngrams.tolist()
        return ["".join(chr(point - 1) for point in row if point) for row in rows]

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> ids (m,) and weights (m,) of all features, bounds (n + 1,); ids ascend within a type."""
        assert self._lookup is not None  # the coder asks for features of a fitted dictionary alone
        ids, weights, bounds = find_features(blob, np.asarray(offsets, dtype=np.int64), self._lookup)
        return ids[: bounds[-1]], weights[: bounds[-1]], bounds


def _most_frequent(columns: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """N-grams (n, 4) and counts -> the first `most` by (count descending, code points)."""
    # Sort only what can be among them: ties at the cut are all kept here.
    if len(counts) > most:
        enough = counts >= np.partition(counts, len(counts) - most)[len(counts) - most]
        columns, counts = columns[enough], counts[enough]
    # a 0 behind the end sorts a prefix before what it begins, as strings do
    order = np.lexsort((columns[:, 3], columns[:, 2], columns[:, 1], columns[:, 0], -counts))
    return columns[order[:most]]
