"""Metrics of minimal pairs by hand, ties, marks, and draws within paradigms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.scores.base import evaluate, find_metric, metrics
from hashbench.scores.draws import draw_counts, drawn
from hashbench.scores.minimal_pairs import METRICS, outcomes, pair_accuracy, ties

NAMES = [metric.name for metric in METRICS]
# Four pairs: sum, mean, minimum, equally many tokens, a paradigm of the same words
OUTPUTS = np.array([[2, 2, 0, 1, 1], [0, 2, 0, 1, 1], [1, 1, 0, 1, 0], [2, 0, 0, 0, 0]], np.uint8)
TARGETS = np.array([0, 0, 1, 1])


def test_by_hand_with_ties_as_one_half() -> None:
    found = {name: score.value for name, score in evaluate(NAMES, TARGETS, OUTPUTS).items()}
    assert found == {
        "pair_accuracy": 2.5 / 4,
        "pair_accuracy_mean": 2.5 / 4,
        "pair_accuracy_minimum": 0.0,
        "pair_accuracy_equal_length": 0.5,
        "pair_accuracy_same_words": 0.5,
    }
    assert ties(OUTPUTS) == 1
    assert list(metrics("pairs")) == NAMES


@pytest.mark.parametrize("name", ["pair_accuracy_equal_length", "pair_accuracy_same_words"])
def test_undefined_where_no_pair_has_the_mark(name: str) -> None:
    score = find_metric(name).scored(TARGETS[:1], np.array([[2, 2, 2, 0, 0]], np.uint8))
    assert score.value is None and score.reason.startswith("no pa")


def test_a_single_pair_has_a_score() -> None:
    found = evaluate(NAMES, TARGETS[:1], np.array([[2, 1, 0, 1, 1]], np.uint8))
    assert [score.value for score in found.values()] == [1.0, 0.5, 0.0, 1.0, 1.0]


def test_scores_that_are_all_equal_are_one_answer_for_every_pair() -> None:
    assert pair_accuracy.is_constant(np.ones((3, 5), np.uint8)) and not pair_accuracy.is_constant(OUTPUTS)


def test_outcomes_compare_each_score_by_itself() -> None:
    good = np.array([[-3.0, -1.0, -2.0, 3.0], [-4.0, -1.0, -1.0, 4.0]])
    bad = np.array([[-3.5, -1.0, -1.0, 3.0], [-2.0, -2.0, -1.5, 1.0]])
    assert outcomes(good, bad, np.array([False, True])).tolist() == [[2, 1, 0, 1, 0], [0, 2, 2, 0, 1]]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 5), st.integers(1, 7))
def test_a_draw_has_as_many_pairs_of_each_paradigm_as_there_are(strata: list[int], seed: int, rows: int) -> None:
    targets = np.array(strata)
    blocks = list(draw_counts(len(targets), 7, seed, cells=rows * len(targets), strata=targets))
    counts = np.concatenate(blocks)
    assert counts.shape == (7, len(targets))
    for stratum in set(strata):
        assert (counts[:, targets == stratum].sum(axis=1) == strata.count(stratum)).all()
    assert (counts == np.concatenate(list(draw_counts(len(targets), 7, seed, strata=targets)))).all()


def test_a_paradigm_that_is_all_right_and_one_that_is_all_wrong_leave_nothing_to_draw() -> None:
    outputs = np.zeros((40, 5), np.uint8)
    outputs[:30, 0] = 2
    scores = drawn("pair_accuracy", np.arange(40) // 30, [outputs], draws=50, seed=1)
    assert (scores == 0.75).all()
    every = np.random.RandomState(0).randint(0, 3, (40, 5)).astype(np.uint8)
    one, other = drawn("pair_accuracy", np.zeros(40, int), [every, every], draws=2000, seed=1)
    assert (one == other).all() and one.std() == pytest.approx(every[:, 0].std() / 2 / np.sqrt(40), rel=0.1)
