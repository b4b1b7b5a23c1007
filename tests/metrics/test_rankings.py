"""Recall, ranks, deciles and means over pages."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.metrics.rankings import deciles, page_mean
from hashbench.metrics.registry import find_metric

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
    assert find_metric(metric).score(np.zeros(4), OUTPUTS) == pytest.approx(value)


def test_deciles_are_of_equal_size_and_by_frequency() -> None:
    targets = np.random.RandomState(0).permutation(np.arange(100) // 3)
    part = deciles(targets)
    assert np.bincount(part).tolist() == [10] * 10
    order = np.argsort(targets, kind="stable")
    assert (np.diff(part[order]) >= 0).all()


def test_pages_may_count_alike() -> None:
    assert page_mean(np.array([1.0, 1.0, 1.0, 0.0]), np.array([2, 2, 2, 7])) == 0.5
