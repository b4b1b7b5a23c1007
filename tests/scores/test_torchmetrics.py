"""Why scores are not computed by torchmetrics: what it gives for some of the stored predictions.

Each test holds a sentence of docs/architecture.md; where one fails, torchmetrics has become good enough to be used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torchmetrics import functional

from hashbench.scores.base import find_metric, predicted_classes
from tests.scores.test_stored import EXAMPLE, stored

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="no example database beside the tests")
COMPARED = 12  # evaluations of each metric; torchmetrics takes 0.1 s for one


def classes(function: Callable[..., torch.Tensor], **options: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """A metric of torchmetrics as a function of targets (n,) and outputs (n,) or (n, C)."""

    def score(targets: np.ndarray, outputs: np.ndarray) -> float:
        ours, real = (torch.as_tensor(each.astype(np.int64)) for each in (predicted_classes(outputs), targets))
        n_classes = max(int(ours.max()), int(real.max()), 1) + 1
        return float(function(ours, real, "multiclass", num_classes=n_classes, **options))

    return score


def values(function: Callable[..., torch.Tensor]) -> Callable[[np.ndarray, np.ndarray], float]:
    """The same of values, in float64."""

    def score(targets: np.ndarray, outputs: np.ndarray) -> float:
        ours, real = (torch.as_tensor(np.asarray(each, np.float64).reshape(-1)) for each in (outputs, targets))
        return float(function(ours, real))

    return score


def binary_f1(targets: np.ndarray, outputs: np.ndarray) -> float:
    """F1 of class 1."""
    ours, real = (torch.as_tensor(each.astype(np.int64)) for each in (predicted_classes(outputs), targets))
    return float(functional.f1_score(ours, real, "binary"))


def some(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Targets and outputs of some stored evaluations that have this metric, constant predictions among them."""
    pairs = stored()[name]
    constant = [pair for pair in pairs if find_metric(name).is_constant(pair[1])]
    return [*constant[:2], *pairs[:: max(1, len(pairs) // COMPARED)]]


def differences(name: str, theirs: Callable[[np.ndarray, np.ndarray], float]) -> list[float]:
    """How far they are apart, where there is a score."""
    found = [(find_metric(name).scored(*pair).value, theirs(*pair)) for pair in some(name)]
    assert found
    return [abs(ours - other) for ours, other in found if ours is not None]


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("accuracy", classes(functional.accuracy, average="micro")),
        ("f1", binary_f1),
        ("f1_macro", classes(functional.f1_score, average="macro")),
        ("spearman", values(functional.spearman_corrcoef)),
    ],
)
def test_these_are_computed_in_float32(name: str, theirs: Callable[[np.ndarray, np.ndarray], float]) -> None:
    """Equal to seven digits, where scores are stored with sixteen."""
    apart = differences(name, theirs)
    assert 1e-12 < max(apart) < 1e-6


def test_matthews_of_a_constant_prediction_is_not_0() -> None:
    targets, outputs = np.array([0, 1, 1, 1]), np.zeros(4, np.int64)
    assert classes(functional.matthews_corrcoef)(targets, outputs) == pytest.approx(-0.577, abs=0.001)
    assert find_metric("matthews").scored(targets, outputs).value == 0.0
    assert classes(functional.matthews_corrcoef)(targets, outputs) < -0.5


def test_pearson_is_equal_but_has_a_number_for_a_constant_prediction() -> None:
    theirs = values(functional.pearson_corrcoef)
    assert max(differences("pearson", theirs)) < 1e-15
    constant = [pair for pair in some("pearson") if len(np.unique(pair[1])) == 1]
    assert constant
    for pair in constant:
        assert find_metric("pearson").scored(*pair).value is None
        assert np.isfinite(theirs(*pair))


def test_f1_of_a_class_that_is_nowhere_is_a_number() -> None:
    nothing = np.zeros(3, np.int64)
    assert find_metric("f1").scored(nothing, nothing).value is None
    assert binary_f1(nothing, nothing) == 0.0
