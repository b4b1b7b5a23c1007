"""hashbench/retrieval.py: recall, ranks, intervals over pages."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from hashbench import retrieval
from hashbench.retrieval import page_mean, per_case, tenths

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


def test_pages_may_count_alike() -> None:
    assert page_mean(np.array([1.0, 1.0, 1.0, 0.0]), np.array([2, 2, 2, 7])) == 0.5
