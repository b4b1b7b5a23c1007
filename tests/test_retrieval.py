"""hashbench/retrieval.py: recall, ranks, intervals over pages."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from hashbench import retrieval
from hashbench.retrieval import page_bootstrap, page_mean, per_case, tenths

# page, rank, certified, two maps
OUTPUTS = np.array([[4, 1, 1, 1, 1], [4, 11, 0, 0, 1], [9, 20, 1, 0, 0], [9, 0, 1, 1, 0]], np.int32)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("rec@1", 1 / 4),
        ("rec@10", 1 / 4),
        ("rec@20", 3 / 4),
        ("mrr", (1 + 1 / 11 + 1 / 20) / 4),
        ("token_rec@1", 1 / 2),
        ("certified", 3 / 4),
    ],
)
def test_metrics_by_hand(metric: str, value: float) -> None:
    assert per_case(metric, OUTPUTS).mean() == pytest.approx(value)


def test_an_unknown_metric() -> None:
    with pytest.raises(ValueError, match="no metric 'accuracy' of rankings"):
        per_case("accuracy", OUTPUTS)


def test_doctests() -> None:
    assert doctest.testmod(retrieval).failed == 0


def test_tenths_are_of_equal_size_and_by_frequency() -> None:
    targets = np.random.RandomState(0).permutation(np.arange(100) // 3)
    part = tenths(targets)
    assert np.bincount(part).tolist() == [10] * 10
    order = np.argsort(targets, kind="stable")
    assert (np.diff(part[order]) >= 0).all()


def test_the_bootstrap_equals_a_loop() -> None:
    values, pages = np.array([1.0, 0.0, 0.0, 1.0, 1.0]), np.array([3, 3, 8, 8, 5])
    found = page_bootstrap([values], pages, draws=500, seed=7)
    random, means = np.random.RandomState(7), []
    groups = [[1.0, 0.0], [1.0], [0.0, 1.0]]  # of pages 3, 5, 8
    for chosen in random.randint(0, 3, (500, 3)):
        drawn = [value for page in chosen for value in groups[page]]
        means.append(sum(drawn) / len(drawn))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert found.value == pytest.approx(0.6) and (found.n_cases, found.n_pages) == (5, 3)


def test_pages_and_not_cases_are_drawn() -> None:
    """One page of 1,000 equal cases and one other: the mean can only be 0, 1 or between by whole pages."""
    values = np.array([1.0] * 1000 + [0.0])
    found = page_bootstrap([values], np.array([0] * 1000 + [1]))
    assert (found.low, found.high) == (0.0, 1.0)


def test_a_paired_difference_is_surer_than_two_intervals() -> None:
    random = np.random.RandomState(0)
    pages = np.repeat(np.arange(200), 5)
    base = (random.uniform(size=1000) < 0.3 + 0.4 * (pages % 2)).astype(float)
    better = np.maximum(base, random.uniform(size=1000) < 0.05)
    found = page_bootstrap([better], pages, minus=[base])
    assert found.value == pytest.approx((better - base).mean()) and 0 < found.low < found.value < found.high
    alone = page_bootstrap([better], pages)
    assert found.high - found.low < (alone.high - alone.low) / 3


def test_runs_are_averaged_first() -> None:
    pages = np.array([0, 1, 2, 3])
    one, other = np.array([1.0, 0, 0, 0]), np.array([1.0, 1.0, 0, 0])
    assert page_bootstrap([one, other], pages).value == pytest.approx(0.375)


def test_many_pages_are_drawn_in_parts() -> None:
    values = np.random.RandomState(0).uniform(size=5000)
    found = page_bootstrap([values], np.arange(5000), draws=2000)
    assert found.low == pytest.approx(0.5, abs=0.02) and found.high - found.low == pytest.approx(0.016, abs=0.003)


def test_pages_may_count_alike() -> None:
    assert page_mean(np.array([1.0, 1.0, 1.0, 0.0]), np.array([2, 2, 2, 7])) == 0.5
