"""The forms for many draws against `hashbench.scores` on the drawn examples themselves."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.report import resampling
from hashbench.report.resampling import OF_CONFUSION, OF_WEIGHTS, drawn_scores
from hashbench.scores import METRICS, bootstrap_interval

RANDOM = np.random.default_rng(7)
TWO = (RANDOM.integers(0, 2, 300), RANDOM.integers(0, 2, 300))
THREE = (RANDOM.integers(0, 3, 300), RANDOM.integers(0, 3, 300))
TIED = (RANDOM.integers(0, 6, 200) / 2, RANDOM.integers(0, 40, 200) / 10)


def test_every_metric_of_the_suite_can_be_drawn() -> None:
    assert set(OF_CONFUSION) | set(OF_WEIGHTS) == set(METRICS)
    assert drawn_scores("unheard-of", *TWO, draws=2, seed=0) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", ["accuracy", "f1", "f1_macro", "matthews"])
@pytest.mark.parametrize("data", [TWO, THREE])
def test_class_metrics_of_counts_equal_those_of_examples(metric: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    targets, predicted = data
    table = np.zeros((1, 3, 3))
    np.add.at(table, (0, targets, predicted), 1)
    assert OF_CONFUSION[metric](table)[0] == pytest.approx(METRICS[metric](targets, predicted), abs=1e-12)


def test_matthews_of_a_constant_prediction_is_zero() -> None:
    assert OF_CONFUSION["matthews"](np.array([[[0.0, 5.0], [0.0, 3.0]]]))[0] == 0.0


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_correlations_of_weights_equal_those_of_the_drawn_examples(metric: str) -> None:
    rows = RANDOM.integers(0, 200, 200)
    weights = np.bincount(rows, minlength=200)[None].astype(float)
    expected = METRICS[metric](TIED[0][rows], TIED[1][rows])
    assert OF_WEIGHTS[metric](weights, *TIED)[0] == pytest.approx(expected, abs=1e-12)


def test_a_constant_side_has_no_correlation() -> None:
    assert np.isnan(OF_WEIGHTS["spearman"](np.ones((1, 4)), np.ones(4), np.arange(4.0))[0])


@pytest.mark.parametrize(("metric", "data"), [("matthews", TWO), ("f1", TWO), ("spearman", TIED)])
def test_intervals_agree_with_drawing_rows_one_by_one(metric: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    drawn = drawn_scores(metric, data[0], [data[1]], draws=2_000, seed=1)
    slow = bootstrap_interval(metric, *data, draws=300)
    assert drawn is not None and slow is not None
    # two samplings of one distribution: ends differ by the noise of 300 draws, a fraction of the width
    tolerance = 0.25 * (slow.high - slow.low)
    assert np.percentile(drawn, [2.5, 97.5]) == pytest.approx([slow.low, slow.high], abs=tolerance)


def test_logits_count_as_their_first_maximum() -> None:
    logits = np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]] * 20)
    ids = np.array([1, 0, 0] * 20)
    targets = np.array([1, 1, 0] * 20)
    pair = [drawn_scores("accuracy", targets, [one], draws=50, seed=3) for one in (logits, ids)]
    assert pair[0] is not None and pair[1] is not None and (pair[0] == pair[1]).all()


def test_blocks_bound_the_memory_not_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn_scores("pearson", TIED[0], [TIED[1]], draws=40, seed=5)
    monkeypatch.setattr(resampling, "CELLS", 1_000)  # five draws a block
    parts = drawn_scores("pearson", TIED[0], [TIED[1]], draws=40, seed=5)
    assert whole is not None and parts is not None and whole == pytest.approx(parts, abs=1e-12)
