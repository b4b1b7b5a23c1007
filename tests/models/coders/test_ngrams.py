"""The dictionary of n-grams and sparse features against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.models.coders import ngrams as ngram_kernels
from hashbench.models.coders.ngrams import NgramFeatures
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import pack
from tests.oracles import hashes as oracle

COUNTS = {"cat": 5, "cats": 3, "at": 3, "": 2, "a\0b": 1, "naïve": 2, "中文中文中文": 1, "😀😀": 4, "aaaaaaaa": 1}


def spelled(row: np.ndarray) -> str:
    """A row of the dictionary as a string."""
    return "".join(chr(point - 1) for point in row.tolist() if point)


def fitted(counts: dict[str, int], most: int) -> NgramFeatures:
    features = NgramFeatures(most)
    features.fit(TypeTable.from_counts(counts))
    return features


@pytest.mark.parametrize("most", [1, 7, 20, 1000])
def test_the_dictionary_is_ranked_by_count_and_code_points(most: int) -> None:
    features = fitted(COUNTS, most)
    assert features.ngrams is not None
    assert [spelled(row) for row in features.ngrams] == oracle.dictionary(COUNTS, most)


def test_many_ngrams_make_the_table_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_kernels, "FIRST_SLOTS", 16)
    counts = {f"w{i * i * 7919:x}" * (1 + i % 3): 1 + i % 5 for i in range(400)}
    features = fitted(counts, 5000)
    assert features.ngrams is not None
    assert [spelled(row) for row in features.ngrams] == oracle.dictionary(counts, 5000)


@pytest.mark.e2e
@given(st.dictionaries(st.text(max_size=12), st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 60))
@settings(max_examples=100)
def test_features_equal_plain_counts(counts: dict[str, int], most: int) -> None:
    features, known = fitted(counts, most), oracle.dictionary(counts, most)
    words = [*counts, "unseen", "zz", "aab" * 40]
    ids, weights, bounds = features.features(*pack(words))
    for word, start, stop in zip(words, bounds[:-1], bounds[1:], strict=True):
        dense = np.zeros(len(known))
        dense[ids[start:stop]] = weights[start:stop]
        assert dense.tolist() == oracle.features(word, known).tolist()
        assert sorted(set(ids[start:stop].tolist())) == ids[start:stop].tolist()


def test_a_corpus_without_types() -> None:
    assert len(fitted({}, 10)) == 0
    assert len(fitted({"": 3}, 10)) == 0
