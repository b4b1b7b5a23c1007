"""models/coders/bloom.py: maps of items to buckets."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.bloom import ROUNDS, Bloom, collision_groups, permutation_map, separate, twins
from hashbench.models.text.types import TokenizedTexts, TypeTable
from tests.oracles.superbloom import bucket_of


def items(n: int) -> TypeTable:
    return TypeTable.from_counts({f"item {i:06d}": n - i for i in range(n)})


def fitted(n: int, **arguments: object) -> Bloom:
    coder = Bloom(**arguments)  # type: ignore[arg-type]
    coder.fit(items(n))
    return coder


def test_the_maps_of_ten_items() -> None:
    """SplitMix64 permutations of seed 0, alpha 3, computed by hand from their definition."""
    assert permutation_map(10, 3, 0, 0).tolist() == [1, 2, 1, 2, 3, 0, 2, 0, 0, 1]
    assert permutation_map(10, 3, 0, 1).tolist() == [1, 0, 3, 0, 2, 2, 1, 1, 2, 0]


def test_the_maps_of_a_real_vocabulary() -> None:
    """N = 4,135, alpha 5, seed 0: the first buckets, and sums of (s + 1) h(s)."""
    first, second = (permutation_map(4135, 5, 0, j) for j in (0, 1))
    assert first[:4].tolist() == [549, 591, 324, 553]
    places = np.arange(1, 4136)
    assert (int(places @ first), int(places @ second)) == (3_545_326_591, 3_514_841_978)


@pytest.mark.parametrize(("n", "alpha", "seed"), [(33, 4, 7), (40, 8, 2**63), (5, 5, 1), (7, 1, 0)])
def test_maps_equal_their_definition(n: int, alpha: int, seed: int) -> None:
    coder = fitted(n, alpha=alpha, maps=3, seed=seed)
    assert coder.maps.tolist() == [bucket_of(n, alpha, seed, j) for j in range(3)]


@pytest.mark.parametrize(("n", "alpha"), [(1000, 10), (1003, 10), (997, 50)])
def test_every_bucket_holds_alpha_items_and_the_last_the_rest(n: int, alpha: int) -> None:
    maps = fitted(n, alpha=alpha).maps
    assert len(maps) > 0
    for buckets in maps:
        sizes = np.bincount(buckets)
        assert (sizes[:-1] == alpha).all() and sizes[-1] == n - alpha * (len(sizes) - 1)


def test_ranges_of_maps_are_disjoint_and_specials_stand_behind() -> None:
    coder = fitted(1003, alpha=10)
    codes = coder.codes()
    assert coder.n_buckets == 101 and coder.num_rows == 2 * 101 + 2 * 3
    assert codes[:, 0].max() == 100 and codes[:, 1].min() == 101 and codes[:, 1].max() == 201


def test_without_sharing_an_item_has_a_row_of_its_own() -> None:
    coder = fitted(50, alpha=1, maps=1)
    assert coder.num_rows == 53 and sorted(coder.codes()[:, 0].tolist()) == list(range(50))


def test_strings_have_the_codes_of_their_items() -> None:
    coder = fitted(20, alpha=4)
    assert np.array_equal(coder.encode(["item 000003", "item 000000"]), coder.codes()[[3, 0]])
    assert coder.place(b"item 000007") == 7 and coder.item(7) == "item 000007" and coder.place(b"nobody") is None


def test_a_stranger_falls_into_a_bucket_of_each_range() -> None:
    codes = fitted(100, alpha=10).encode(["nobody", "", "nobody"])
    assert np.array_equal(codes[0], codes[2])
    assert (codes[:, 0] < 10).all() and (codes[:, 1] >= 10).all() and (codes[:, 1] < 20).all()


def test_other_seeds_make_other_maps() -> None:
    assert not np.array_equal(fitted(100, alpha=5, seed=0).maps, fitted(100, alpha=5, seed=1).maps)


def test_token_counts_are_sums_over_the_items_of_a_bucket() -> None:
    coder = fitted(9, alpha=2)
    counts = np.arange(9)
    found = coder.token_counts(counts)
    for j, buckets in enumerate(coder.maps):
        for bucket in range(coder.n_buckets):
            assert found[j * coder.n_buckets + bucket] == counts[buckets == bucket].sum()
    assert not found[-6:].any() and len(found) == coder.num_rows


def test_colliding_items_are_found() -> None:
    maps = np.array([[0, 0, 1, 0], [2, 2, 2, 2], [5, 5, 5, 4]])
    groups = collision_groups(maps).tolist()
    assert groups[0] == groups[1] and len(set(groups)) == 3
    assert twins(maps).tolist() == [False, True, False, False]


def test_expected_collisions_do_not_depend_on_the_size() -> None:
    """About (alpha - 1)^2 / 2 pairs whatever N: 180 at alpha 20, standard deviation about 13."""
    n_twins = [int(twins(fitted(n, alpha=20).maps).sum()) for n in (4_000, 40_000)]
    assert all(110 < n < 250 for n in n_twins)


@pytest.mark.parametrize("alpha", [5, 10])
def test_distinct_pairs_separates_all_and_keeps_the_sizes(alpha: int) -> None:
    plain, coder = fitted(4135, alpha=alpha), fitted(4135, alpha=alpha, distinct_pairs=True)
    assert twins(plain.maps).any() and not twins(coder.maps).any()
    assert np.array_equal(np.bincount(coder.maps[1]), np.bincount(plain.maps[1]))
    assert np.array_equal(coder.maps[0], plain.maps[0])


def test_where_buckets_must_share_the_rounds_end() -> None:
    """Six items in one bucket of each map can never be told apart."""
    maps = np.zeros((2, 6), np.int32)
    assert separate(maps, seed=0) == 5 and ROUNDS >= 1


def test_coherent_maps_put_together_what_occurs_together() -> None:
    """Four topics of four items: each page links to the items of one topic."""
    pages = [[4 * topic + i for i in range(4)] for topic in range(4) for _ in range(5)]
    links = TokenizedTexts(np.array(pages, np.int32).ravel(), np.arange(0, 81, 4, dtype=np.int64))
    coder = Bloom(alpha=4, coherent=1)
    coder.fit_links(items(16), links)
    topics = np.arange(16) // 4
    assert all(len(set(topics[coder.maps[1] == bucket])) == 1 for bucket in range(4))
    assert np.array_equal(coder.maps[0], permutation_map(16, 4, 0, 0))


def test_two_coherent_maps_never_join_two_items_twice_while_others_are_left() -> None:
    random = np.random.RandomState(0)
    pages = [np.sort(random.permutation(60)[:6]) for _ in range(200)]
    links = TokenizedTexts(np.concatenate(pages).astype(np.int32), np.arange(0, 1201, 6, dtype=np.int64))
    coder = Bloom(alpha=3, coherent=2)
    coder.fit_links(items(60), links)
    assert int(twins(coder.maps).sum()) <= coder.violations < 10
    assert (np.bincount(coder.maps[1]) == 3).all()


@pytest.mark.parametrize(("coherent", "violations"), [(0, 0), (1, 0), (2, 2), (3, 4)])
def test_violations_are_counted_in_the_maps_of_a_restored_coder_too(coherent: int, violations: int) -> None:
    """Four items in one bucket of four and in pairs: two share both buckets with an item before them, each time."""
    coder = Bloom(alpha=4, maps=3, coherent=coherent)
    state = Bloom(alpha=4, maps=3).state() | {"blob": np.zeros(0, np.uint8), "offsets": np.zeros(5, np.int64)}
    coder.restore(state | {"maps": np.array([[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1]], np.int32)})
    assert coder.violations == violations


def test_where_few_items_are_left_those_that_share_twice_are_counted() -> None:
    pages = TokenizedTexts(np.arange(6, dtype=np.int32), np.array([0, 6], np.int64))
    coder = Bloom(alpha=4, coherent=2)
    coder.fit_links(items(6), pages)
    pairs = set(zip(*coder.maps.tolist(), strict=True))
    assert coder.violations == 6 - len(pairs) > 0


def test_a_restored_coder_needs_no_links() -> None:
    links = TokenizedTexts(np.array([0, 1, 2, 3, 1, 2], np.int32), np.array([0, 4, 6]))
    coder, other = Bloom(alpha=2, coherent=2), Bloom(alpha=2, coherent=2)
    coder.fit_links(items(8), links)
    other.restore(coder.state())
    assert np.array_equal(other.codes(), coder.codes()) and other.fingerprint() == coder.fingerprint()
    assert other.encode(["item 000002"]).tolist() == coder.encode(["item 000002"]).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "coder bloom: alpha 0; give an integer of at least 1"),
        ({"alpha": True}, "coder bloom: alpha True"),
        ({"maps": 2, "coherent": 3}, "coder bloom: coherent 3 of 2 maps; take at most 2"),
        ({"distinct_pairs": 1}, "coder bloom: distinct_pairs 1; give true or false"),
        ({"seed": -1}, "coder bloom: seed -1; give an integer of at least 0"),
    ],
)
def test_impossible_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Bloom(**arguments)  # type: ignore[arg-type]


def test_an_alpha_larger_than_the_vocabulary() -> None:
    with pytest.raises(InputError, match="alpha 50 is larger than the vocabulary of 10 items; take less"):
        fitted(10, alpha=50)


def test_coherent_maps_without_links() -> None:
    with pytest.raises(InputError, match="coherent maps are made from page links; give a page-link set"):
        fitted(10, alpha=2, coherent=1)


def test_unfitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="not fitted"):
        Bloom().encode(["a"])
