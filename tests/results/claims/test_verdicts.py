"""The rule of decision at its edges: what exactly meets a bound, and what comes free."""

from __future__ import annotations

import math

import pytest

from hashbench.results.claims.grammar import ClaimKind
from hashbench.results.claims.verdicts import Outcome, all_of, comes_free, of_interval, of_point


@pytest.mark.parametrize(
    ("kind", "low", "high", "bound", "outcome"),
    [
        ("greater", 0.0, 1.0, 0, "undecided"),  # 0 itself is not greater
        ("greater", -1.0, 0.0, 0, "fails"),
        ("interaction", 0.1, 1.0, 0, "holds"),
        ("difference_at_least", 2.0, 3.0, 2, "holds"),
        ("difference_at_least", 1.0, 2.0, 2, "undecided"),
        ("difference_at_least", 1.0, 1.9, 2, "fails"),
        ("ratio_at_least", 1.0, 1.5, 1, "holds"),
        ("equal_within", -0.5, 0.5, 0.5, "holds"),
        ("equal_within", -0.6, 0.5, 0.5, "undecided"),
        ("equal_within", 0.4, 0.6, 0.5, "undecided"),
        ("equal_within", -0.9, -0.6, 0.5, "fails"),
        ("equal_within", 0.5, 0.9, 0.5, "undecided"),
        ("count", 0.6, 0.6, 0.5, "fails"),
        ("greater", math.nan, 1.0, 0, "undecided"),
        ("greater", 0.5, math.nan, 0, "undecided"),
    ],
)
def test_an_interval_at_its_bound(kind: ClaimKind, low: float, high: float, bound: float, outcome: Outcome) -> None:
    assert of_interval(kind, low, high, bound=bound) == outcome


def test_printed_points_are_compared_in_decimals() -> None:
    assert of_point("difference_at_least", 75.3 - 79.5, -4.2) == "holds"
    assert of_point("difference_at_least", -4.2001, -4.2) == "fails"


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "undecided"], "undecided"),
        (["undecided", "fails"], "fails"),
        (["fails", "not measured"], "not measured"),
    ],
)
def test_one_part_decides_in_this_order(parts: list[Outcome], outcome: Outcome) -> None:
    assert all_of(parts) == outcome


@pytest.mark.parametrize(
    ("kind", "bound", "free"),
    [
        ("equal_within", 0.5, True),
        ("difference_at_least", 0.0, True),
        ("difference_at_least", 0.1, False),
        ("ratio_at_least", 1.0, True),
        ("ratio_at_least", 1.01, False),
        ("greater", 0.0, False),
    ],
)
def test_what_two_equal_models_would_fulfil(kind: ClaimKind, bound: float, free: bool) -> None:
    assert comes_free(kind, bound) is free
