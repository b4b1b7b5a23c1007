"""Metrics of several labels a row against scikit-learn, their draws, and the best constant prediction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score

from hashbench.scores.base import find_metric, metrics
from hashbench.scores.draws import draw_counts, drawn
from hashbench.scores.labels import METRICS

NAMES = [metric.name for metric in METRICS]
RANDOM = np.random.default_rng(5)


def by_sklearn(name: str, targets: np.ndarray, outputs: np.ndarray) -> float:
    return f1_score(targets, outputs > 0, average=name.removeprefix("label_f1_"), zero_division=0)


def random_set() -> tuple[np.ndarray, np.ndarray]:
    """Targets (n, C) of some density, rows without a label among them, and logits (n, C) that know a part of them."""
    n, c = RANDOM.integers(1, 40), RANDOM.integers(2, 9)
    targets = (RANDOM.random((n, c)) < RANDOM.random()).astype(np.uint8)
    outputs = RANDOM.standard_normal((n, c)) + RANDOM.random() * 3 * targets - RANDOM.random()
    return targets, outputs.astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_a_thousand_random_sets_equal_those_of_scikit_learn(name: str) -> None:
    metric, compared = find_metric(name), 0
    for targets, outputs in (random_set() for _ in range(1_000)):
        scored = metric.scored(targets, outputs)
        if scored.value is None:  # scikit-learn gives 0 there
            assert not targets.any() and not (outputs > 0).any()
            continue
        assert scored.value == pytest.approx(by_sklearn(name, targets, outputs), abs=1e-12)
        assert metric.score(targets, metric.compact(outputs)) == scored.value
        compared += 1
    assert compared > 950


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_is_the_score_of_the_rows_drawn(name: str) -> None:
    targets, outputs = (RANDOM.random((20, 5)) < 0.2).astype(np.uint8), RANDOM.standard_normal((2, 20, 5))
    draws = drawn(name, targets, list(outputs), draws=50, seed=3)
    for row, counts in enumerate(np.concatenate(list(draw_counts(20, 50, 3)))):
        rows = np.repeat(np.arange(20), counts)
        slow = [by_sklearn(name, targets[rows], of_run[rows]) for of_run in outputs]
        assert draws[:, row] == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_constant_is_above_the_best_one(name: str) -> None:
    for _ in range(50):
        targets = (RANDOM.random((12, 4)) < RANDOM.random(4)).astype(np.uint8)
        best = find_metric(name).best_constant(targets)
        if best is None:
            assert not targets.any()
            continue
        every = [np.tile(np.array(labels, np.uint8), (12, 1)) for labels in product((0, 1), repeat=4)]
        scores = [find_metric(name).scored(targets, of).value or 0.0 for of in every]
        assert find_metric(name).score(targets, best) == pytest.approx(max(scores), abs=1e-12)
        assert find_metric(name).is_constant(best)


def test_an_output_of_exactly_one_half_is_no_label() -> None:
    """A logit of 0 is a probability of 0.5."""
    targets, outputs = np.array([[1, 0]]), np.array([[1e-6, 0.0]])
    assert find_metric("label_f1_micro").score(targets, outputs) == 1.0


def test_nothing_there_and_nothing_predicted_has_no_score() -> None:
    none = np.zeros((3, 2))
    for name in NAMES:
        assert find_metric(name).scored(none.astype(np.uint8), none).reason == "no label is there or predicted"


def test_a_row_is_right_where_all_of_its_labels_are() -> None:
    targets, outputs = np.array([[1, 0], [1, 1], [0, 0]]), np.array([[2.0, -1.0], [2.0, -1.0], [-3.0, -1.0]])
    for metric in metrics("multi-label").values():
        assert metric.right(targets, outputs).tolist() == [True, False, True]
        assert not metric.is_constant(outputs) and metric.is_constant(outputs[:2])
