"""The rule of decision at its edges: what exactly meets a bound, and what comes free."""

from __future__ import annotations

import math

import pytest

from hashbench.results.claims.claim import KINDS, Outcome
from hashbench.results.claims.verdicts import all_of


@pytest.mark.parametrize(
    ("kind", "low", "high", "bound", "outcome"),
    [
        ("greater", 0.0, 1.0, 0, "undecided"),  # 0 itself is not greater
        ("greater", -1.0, 0.0, 0, "fails"),
        ("greater", 0.1, 1.0, 0, "holds"),
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
def test_an_interval_at_its_bound(kind: str, low: float, high: float, bound: float, outcome: Outcome) -> None:
    assert KINDS[kind].of_interval(low, high, bound=bound) == outcome


def test_printed_points_are_compared_in_decimals() -> None:
    assert KINDS["difference_at_least"].of_point(75.3 - 79.5, -4.2) == "holds"
    assert KINDS["difference_at_least"].of_point(-4.2001, -4.2) == "fails"


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
def test_what_two_equal_models_would_fulfil(kind: str, bound: float, free: bool) -> None:
    assert KINDS[kind].comes_free(bound) is free
