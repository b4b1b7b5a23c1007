"""Recall, ranks, deciles and means over pages."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.scores.base import find_metric
from hashbench.scores.rankings import deciles, page_mean

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


def test_scores_by_condition() -> None:
    """Four cases: each is a decile of its own, as targets (4,) are cut at 0, 10, ..., 90 percent."""
    targets = np.arange(4)
    recall = find_metric("rec@20").by_condition(targets, OUTPUTS)
    assert recall == {"": 3 / 4, "pages alike": 3 / 4, "tenth=1": 1.0, "tenth=3": 1.0, "tenth=6": 1.0, "tenth=8": 0.0}
    assert find_metric("certified").by_condition(targets, OUTPUTS) == {"": 3 / 4}
    assert find_metric("token_rec@1").by_condition(targets, OUTPUTS) == {"": 1 / 2, "map=1": 1 / 2, "map=2": 1 / 2}
    assert find_metric("certified").by_condition(targets, OUTPUTS[:, :3]) == {}, "of a trivial baseline"


def test_a_metric_says_what_is_drawn_and_what_is_right() -> None:
    recall, classes = find_metric("rec@10"), find_metric("accuracy")
    assert recall.unit == "page" and recall.units(OUTPUTS).tolist() == [4, 4, 9, 9]
    assert recall.right(np.zeros(4), OUTPUTS).tolist() == [True, False, False, False]
    assert find_metric("mrr").right(np.zeros(4), OUTPUTS) is None
    assert classes.unit == "example" and classes.units(np.zeros(2)) is None
    assert classes.right(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]])).tolist() == [True, False]


@pytest.mark.parametrize("name", ["rec@1 beam=10", "rec@1 pages alike", "accuracy tenth=3"])
def test_a_condition_that_a_metric_does_not_know(name: str) -> None:
    with pytest.raises(InputError, match=f"unknown metric '{name}'"):
        find_metric(name)


def test_deciles_are_of_equal_size_and_by_frequency() -> None:
    targets = np.random.RandomState(0).permutation(np.arange(100) // 3)
    part = deciles(targets)
    assert np.bincount(part).tolist() == [10] * 10
    order = np.argsort(targets, kind="stable")
    assert (np.diff(part[order]) >= 0).all()


def test_pages_may_count_alike() -> None:
    assert page_mean(np.array([1.0, 1.0, 1.0, 0.0]), np.array([2, 2, 2, 7])) == 0.5


@pytest.mark.parametrize("condition", ["tenth=x", "tenth=0", "tenth=11", "tenth="])
def test_there_is_no_other_tenth(condition: str) -> None:
    with pytest.raises(InputError, match="unknown metric"):
        find_metric(f"rec@1 {condition}")
