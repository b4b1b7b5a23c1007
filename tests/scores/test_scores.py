from __future__ import annotations

import math

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.scores.base import evaluate, find_metric, metrics

RANDOM = np.random.RandomState(0)
CLASSES = [(RANDOM.randint(0, k, 50), RANDOM.randint(0, k, 50)) for k in (2, 2, 3, 5)]
VALUES = [(RANDOM.randn(50), RANDOM.randn(50)), (RANDOM.randint(0, 4, 50) * 1.0, RANDOM.randint(0, 4, 50) * 1.0)]


def score(metric: str, targets: object, outputs: object) -> float | None:
    return evaluate([metric], np.asarray(targets), np.asarray(outputs))[metric].value


def reason(metric: str, targets: object, outputs: object) -> str | None:
    return evaluate([metric], np.asarray(targets), np.asarray(outputs))[metric].reason


# Oracles, from the definitions.


def counted_f1(targets: list[int], outputs: list[int], positive: int) -> float:
    hits = sum(t == o == positive for t, o in zip(targets, outputs, strict=True))
    wrong = sum((t == positive) != (o == positive) for t, o in zip(targets, outputs, strict=True))
    return 2 * hits / (2 * hits + wrong)


def counted_matthews(targets: list[int], outputs: list[int]) -> float:
    """Correlation of the one-hot matrices (Gorodkin 2004), 0 where a side is constant."""
    n, classes = len(targets), set(targets) | set(outputs)
    right = sum(t == o for t, o in zip(targets, outputs, strict=True))
    t, o = ([side.count(k) for k in classes] for side in (targets, outputs))
    cross = right * n - sum(a * b for a, b in zip(t, o, strict=True))
    spread = (n * n - sum(a * a for a in t)) * (n * n - sum(b * b for b in o))
    return cross / math.sqrt(spread) if spread else 0.0


def counted_pearson(x: list[float], y: list[float]) -> float:
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    cross = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return cross / math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


def mean_ranks(values: list[float]) -> list[float]:
    return [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]


@pytest.mark.parametrize(("targets", "outputs"), CLASSES)
def test_classification_against_the_definitions(targets: np.ndarray, outputs: np.ndarray) -> None:
    t, o = targets.tolist(), outputs.tolist()
    assert score("accuracy", t, o) == pytest.approx(sum(map(int.__eq__, t, o)) / len(t), abs=1e-12)
    assert score("matthews", t, o) == pytest.approx(counted_matthews(t, o), abs=1e-12)
    assert score("f1", t, o) == pytest.approx(counted_f1(t, o, 1), abs=1e-12)
    mean = np.mean([counted_f1(t, o, k) for k in sorted(set(t) | set(o))])
    assert score("f1_macro", t, o) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(("targets", "outputs"), VALUES)
def test_regression_against_the_definitions(targets: np.ndarray, outputs: np.ndarray) -> None:
    t, o = targets.tolist(), outputs.tolist()
    assert score("pearson", t, o) == pytest.approx(counted_pearson(t, o), abs=1e-12)
    assert score("spearman", t, o) == pytest.approx(counted_pearson(mean_ranks(t), mean_ranks(o)), abs=1e-12)


def test_f1_is_of_class_one() -> None:
    # precision 2/3, recall 2/4: 2 * (2/3 * 1/2) / (2/3 + 1/2) = 4/7
    assert score("f1", [1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0]) == pytest.approx(4 / 7)


@pytest.mark.parametrize("outputs", [[1, 1, 1], [1, 0, 1], [0, 0, 0]])
def test_matthews_of_targets_of_one_class_is_undefined(outputs: list[int]) -> None:
    row = find_metric("matthews").scored(np.ones(3, np.int64), np.array(outputs))
    assert (row.value, row.reason) == (None, "the targets are constant")


def test_matthews_of_a_constant_prediction_is_zero() -> None:
    targets = np.array([1] * 721 + [0] * 322)  # CoLA's dev set
    assert score("matthews", targets, np.ones(1_043, np.int64)) == 0.0


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_correlation_with_a_constant_is_undefined(metric: str) -> None:
    assert score(metric, [1.0, 2.0], [3.0, 3.0]) is None
    assert reason(metric, [1.0, 2.0], [3.0, 3.0]) == "the predictions are constant"
    assert reason(metric, [1.0, 1.0], [3.0, 2.0]) == "the targets are constant"
    assert reason(metric, [1.0], [3.0]) == "the targets are constant"


def test_f1_without_class_one_is_undefined_only_where_nobody_names_it() -> None:
    assert reason("f1", [0, 0], [0, 0]) == "class 1 is neither in the targets nor predicted"
    assert score("f1", [0, 0], [0, 1]) == 0.0
    assert score("f1", [0, 1], [0, 0]) == 0.0


def test_logits_count_as_their_first_maximum() -> None:
    assert score("accuracy", [1, 0, 2], [[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.1]]) == 1.0


def test_a_column_of_values_is_a_regression() -> None:
    assert score("pearson", [1.0, 2.0, 3.0], [[2.0], [4.0], [6.0]]) == pytest.approx(1.0)


def test_what_is_not_finite_has_no_score() -> None:
    assert reason("accuracy", [0, 1], [[0.0, math.nan], [0.0, 1.0]]) == "a prediction is not a finite number"
    assert reason("spearman", [0.0, 1.0], [math.inf, 1.0]) == "a prediction is not a finite number"


@pytest.mark.parametrize("metric", metrics())
def test_no_examples(metric: str) -> None:
    assert reason(metric, np.zeros(0), np.zeros(0)) == "no examples"


def test_all_metrics_of_a_task_at_once() -> None:
    found = evaluate(("f1", "accuracy"), np.array([0, 1]), np.array([0, 1]))
    assert {name: score.value for name, score in found.items()} == {"f1": 1.0, "accuracy": 1.0}


def test_unknown_metric() -> None:
    with pytest.raises(InputError, match=r"unknown metric 'mathews'; did you mean 'matthews'\?"):
        find_metric("mathews")
    with pytest.raises(
        InputError, match=r"unknown metric 'bleu'; known are (.*, )?accuracy, .*matthews, (.*, )?pearson, "
    ):
        find_metric("bleu", "classes", "values")


def test_kinds() -> None:
    assert list(metrics("values")) == ["pearson", "spearman"]


def test_only_an_f1_of_one_class_says_little_of_a_model_below_the_majority() -> None:
    assert [name for name in metrics() if find_metric(name).needs_accuracy] == ["f1"]
