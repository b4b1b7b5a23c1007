"""models/objectives/item_search.py: rankings of items from distributions over buckets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.models.coders.bloom import permutation_map
from hashbench.models.objectives import item_search
from hashbench.models.objectives.item_search import ItemSearch, top_buckets
from tests.oracles.superbloom import beam_search, ranking


def searcher(n: int, alpha: int, m: int) -> ItemSearch:
    return ItemSearch(np.stack([permutation_map(n, alpha, 1, j) for j in range(m)]), alpha)


def logs_of(search: ItemSearch, queries: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    shape = (queries, len(search.maps), search.n_buckets)
    return (scale * torch.randn(shape, generator=random)).log_softmax(-1)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of items is too many to score them all."""
    monkeypatch.setattr(item_search, "EXHAUSTIVE_BELOW", 0)


SHAPES = [(60, 5, 2), (61, 7, 3), (40, 40, 2), (25, 1, 1)]  # short last bucket; one bucket; no sharing


@pytest.mark.parametrize(("n", "alpha", "m"), SHAPES)
def test_exhaustive_ranking_equals_the_definition(n: int, alpha: int, m: int) -> None:
    search = searcher(n, alpha, m)
    logs = logs_of(search, 5).double()  # as the oracle's numbers
    found = search.exhaustive(logs, 10)
    for query in range(5):
        expected = ranking(logs[query].tolist(), search.maps.tolist(), 10)
        assert found.items[query].tolist() == [item for item, _ in expected]
        assert found.scores[query].tolist() == pytest.approx([score for _, score in expected])


@pytest.mark.parametrize(("n", "alpha", "m"), SHAPES)
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_the_beam_equals_algorithm_1(n: int, alpha: int, m: int, beam: int) -> None:
    search = searcher(n, alpha, m)
    logs = logs_of(search, 6, seed=3, scale=2.0).double()
    found = search.approximate(logs, 4, beam)
    for query in range(6):
        items, certified = beam_search(logs[query].tolist(), search.maps.tolist(), 4, beam)
        assert [item for item in found.items[query].tolist() if item >= 0] == items
        assert bool(found.certified[query]) == certified


@pytest.mark.e2e
@pytest.mark.parametrize(("n", "alpha", "m"), SHAPES)
@pytest.mark.parametrize("k", [1, 8, 1000])
@pytest.mark.usefixtures("many")
def test_exact_equals_exhaustive(n: int, alpha: int, m: int, k: int) -> None:
    search = searcher(n, alpha, m)
    logs = logs_of(search, 40, seed=k)
    exact, all_scored = search.exact(logs, k), search.exhaustive(logs, k)
    assert torch.equal(exact.scores, all_scored.scores) and bool(exact.certified.all())
    assert torch.equal(exact.items, all_scored.items)


@pytest.mark.usefixtures("many")
def test_exact_finds_all_items_even_with_a_share_of_no_probability() -> None:
    search = searcher(61, 7, 2)
    logs = logs_of(search, 5)
    logs[:, 0, 2:6] = -torch.inf
    exact, all_scored = search.exact(logs, 61), search.exhaustive(logs, 61)
    assert torch.equal(exact.scores, all_scored.scores) and torch.equal(exact.items, all_scored.items)


@pytest.mark.e2e
@pytest.mark.parametrize("m", [2, 3])
def test_exact_equals_exhaustive_on_a_large_vocabulary(m: int) -> None:
    """1,000 random queries over 100,000 items, twenty a bucket."""
    search = searcher(100_000, 20, m)
    logs = logs_of(search, 1000, scale=3.0)
    exact, all_scored = search.exact(logs, 10), search.exhaustive(logs, 10)
    assert torch.equal(exact.scores, all_scored.scores) and torch.equal(exact.items, all_scored.items)


def test_every_bucket_in_the_beam_scores_every_item() -> None:
    search = searcher(61, 7, 2)
    logs = logs_of(search, 10)
    found = search.approximate(logs, 61, search.n_buckets)
    assert torch.equal(found.items, search.exhaustive(logs, 61).items) and bool(found.certified.all())
    assert sorted(found.items[0].tolist()) == list(range(61))


@pytest.mark.usefixtures("many")
def test_flat_scores_rank_by_frequency() -> None:
    search = searcher(60, 5, 2)
    logs = torch.full((2, 2, search.n_buckets), -np.log(search.n_buckets))
    assert search.exhaustive(logs, 7).items.tolist() == [list(range(7))] * 2
    exact = search.exact(logs, 7)
    assert torch.equal(exact.scores, search.exhaustive(logs, 7).scores)


def test_a_tie_at_the_edge_goes_to_the_lower_number() -> None:
    """Ten items of one bucket each; 2, 5 and 7 share the second place."""
    search = ItemSearch(np.arange(10)[None], 1)
    logs = torch.full((1, 1, 10), -9.0)
    logs[0, 0, [7, 5, 2]], logs[0, 0, 9] = -1.0, -0.5
    assert search.exhaustive(logs, 3).items.tolist() == [[9, 2, 5]]
    assert search.approximate(logs, 3, 10).items.tolist() == [[9, 2, 5]]


def test_a_beam_that_finds_too_few_fills_up_with_nobody() -> None:
    search = searcher(60, 5, 2)
    found = search.approximate(logs_of(search, 3), 20, 1)
    n_found = (found.items >= 0).sum(1)
    assert bool((n_found >= 5).all()) and bool((n_found <= 10).all()) and found.items.shape == (3, 20)
    assert bool((found.scores[found.items < 0] == -torch.inf).all()) and not found.certified.any()


def test_more_than_there_are_gives_all() -> None:
    search = searcher(6, 2, 2)
    assert search.exhaustive(logs_of(search, 1), 20).items.shape == (1, 6)


def test_ranks_are_places_in_the_exhaustive_ranking() -> None:
    search = searcher(61, 7, 2)
    logs, targets = logs_of(search, 30), torch.arange(30)
    places = (search.exhaustive(logs, 61).items == targets[:, None]).int().argmax(1) + 1
    assert torch.equal(search.ranks(logs, targets), places)


def test_few_items_are_all_scored_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    search = searcher(61, 7, 2)
    logs = logs_of(search, 10)
    assert search.scores_all
    monkeypatch.setattr(item_search, "EXHAUSTIVE_BELOW", 10)
    assert not search.scores_all
    assert torch.equal(search.exact(logs, 5).items, search.exhaustive(logs, 5).items)


def test_queries_are_cut_to_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    search = searcher(61, 7, 2)
    logs, targets = logs_of(search, 10), torch.arange(10)
    whole = search.exhaustive(logs, 5).items, search.approximate(logs, 5, 2).items, search.ranks(logs, targets)
    monkeypatch.setattr(item_search, "CELLS", 100)
    cut = search.exhaustive(logs, 5).items, search.approximate(logs, 5, 2).items, search.ranks(logs, targets)
    assert all(torch.equal(one, other) for one, other in zip(whole, cut, strict=True))


@pytest.mark.parametrize("n", [100, 4 * 5 * 64 - 1, 4 * 5 * 64, 4 * 5 * 64 + 63, 3000])
@pytest.mark.parametrize("levels", [7, 10**9])  # many equal values, or none
def test_the_highest_buckets_are_those_of_a_sort(n: int, levels: int) -> None:
    logs = torch.randint(0, levels, (3, 2, n), generator=torch.Generator().manual_seed(n)).float()
    logs[0, 0, -1] = levels + 1  # behind the last whole block
    values, places = top_buckets(logs, 5)
    assert torch.equal(values, logs.sort(dim=-1, descending=True).values[..., :5])
    assert torch.equal(logs.gather(-1, places), values)
    assert all(len(row.unique()) == 5 for row in places.flatten(0, 1))
