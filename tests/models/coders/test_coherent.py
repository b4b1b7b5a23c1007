"""models/coders/bloom.py: vectors of items from the pages that link to them, and buckets of neighbours."""

from __future__ import annotations

import math

import numpy as np

from hashbench.models.coders.bloom import co_occurrence, coherent_map, item_vectors, positive_information
from hashbench.models.text.types import TokenizedTexts

# Pages {0, 1, 2}, {0, 1}, {2, 3}.
LINKS = TokenizedTexts(np.array([0, 1, 2, 0, 1, 2, 3], np.int32), np.array([0, 3, 5, 7]))


def test_pages_with_both_items_are_counted() -> None:
    expected = [[0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    assert co_occurrence(LINKS, 4).toarray().tolist() == expected


def test_positive_information_by_hand() -> None:
    """n = 10, n_0 = n_1 = n_2 = 3, n_3 = 1: log(2 10 / 9), log(1 10 / 9), log(1 10 / 3)."""
    found = positive_information(co_occurrence(LINKS, 4)).toarray()
    assert np.allclose(found[0], [0, math.log(20 / 9), math.log(10 / 9), 0])
    assert np.allclose(found[3], [0, 0, math.log(10 / 3), 0])


def test_vectors_are_of_unit_length_and_zero_for_an_item_nobody_links_to() -> None:
    vectors = item_vectors(LINKS, 5)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 1, 0], atol=1e-5)


def test_many_items_are_decomposed_by_iteration() -> None:
    random = np.random.RandomState(1)
    pages = [random.permutation(100)[:5] for _ in range(80)]
    links = TokenizedTexts(np.concatenate(pages).astype(np.int32), np.arange(0, 401, 5, dtype=np.int64))
    vectors = item_vectors(links, 100)
    assert vectors.shape == (100, 64) and np.array_equal(vectors, item_vectors(links, 100))


def test_each_item_in_turn_takes_its_nearest_neighbours() -> None:
    """On a line at 0, 0.1, 1, 1.1, 0.2 radians: 0 takes 1 (the nearest), 2 takes 3, 4 is left alone."""
    angles = np.array([0.0, 0.1, 1.0, 1.1, 0.2])
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    buckets = coherent_map(vectors, 2)
    assert buckets.tolist() == [0, 0, 1, 1, 2]


def test_what_shared_a_bucket_before_does_not_share_one_again() -> None:
    angles = np.array([0.0, 0.1, 0.3, 1.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    buckets = coherent_map(vectors, 2, before=np.array([0, 0, 1, 1]))
    assert buckets.tolist() == [0, 1, 0, 1]


def test_where_nobody_else_is_left_the_constraint_gives_way() -> None:
    vectors = np.eye(4, dtype=np.float32)
    buckets = coherent_map(vectors, 4, before=np.array([0, 0, 1, 1]))
    assert buckets.tolist() == [0, 0, 0, 0]


def test_all_buckets_are_full_whatever_the_vectors() -> None:
    vectors = np.zeros((103, 8), np.float32)
    buckets = coherent_map(vectors, 10)
    assert np.bincount(buckets).tolist() == [10] * 10 + [3]
