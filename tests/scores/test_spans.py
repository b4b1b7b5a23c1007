"""Metrics of spans by hand, where they are undefined, and their draws."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.scores.base import evaluate, find_metric, metrics

NAMES = ("span_f1", "span_precision", "span_recall", "word_accuracy")
# Three rows: spans there; spans predicted, hits, words, right words
TARGETS = np.array([2, 1, 0])
OUTPUTS = np.array([[2, 1, 5, 4], [0, 0, 3, 2], [1, 0, 2, 1]], np.float32)


def test_by_hand() -> None:
    found = {name: score.value for name, score in evaluate(NAMES, TARGETS, OUTPUTS).items()}
    assert found == pytest.approx(
        {"span_f1": 2 / 6, "span_precision": 1 / 3, "span_recall": 1 / 3, "word_accuracy": 0.7}
    )


def test_all_of_them_are_of_spans() -> None:
    assert tuple(metrics("spans")) == NAMES


@pytest.mark.parametrize(
    ("name", "targets", "outputs"),
    [
        ("span_f1", [0], [[0, 0, 3, 3]]),
        ("span_precision", [1], [[0, 0, 3, 2]]),
        ("span_recall", [0], [[1, 0, 3, 2]]),
        ("word_accuracy", [0], [[0, 0, 0, 0]]),
    ],
)
def test_undefined_without_anything_to_divide_by(name: str, targets: list, outputs: list) -> None:
    score = find_metric(name).scored(np.array(targets), np.array(outputs, np.float32))
    assert score.value is None and score.reason


def test_nothing_right_is_zero() -> None:
    assert find_metric("span_f1").score(np.array([1]), np.array([[0, 0, 3, 2]])) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_is_the_score_of_the_rows_drawn(name: str) -> None:
    random = np.random.RandomState(0)
    targets = random.randint(0, 4, 50)
    hits = np.minimum(targets, random.randint(0, 2, 50))
    outputs = np.stack([random.randint(0, 4, 50), hits, targets + 5, targets], axis=1)
    counts = random.multinomial(50, np.full(50, 1 / 50), size=20)
    scores = find_metric(name).scorer(targets, [outputs]).scores(counts)[0]
    for drawn, score in zip(counts, scores, strict=True):
        rows = np.repeat(np.arange(50), drawn)
        assert score == pytest.approx(find_metric(name).score(targets[rows], outputs[rows]))


def test_what_is_given_away_has_the_same_score_in_fewer_bytes() -> None:
    metric = find_metric("span_f1")
    small = metric.compact(OUTPUTS)
    assert small.dtype == np.uint8 and metric.score(TARGETS, small) == metric.score(TARGETS, OUTPUTS)


def test_only_no_span_at_all_is_constant() -> None:
    metric = find_metric("span_f1")
    assert not metric.is_constant(np.repeat(OUTPUTS[:1], 3, axis=0))  # one span found in each row
    assert metric.is_constant(OUTPUTS[1:2])
