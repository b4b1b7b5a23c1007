"""Intervals of a median and of draws."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from hashbench.scores import draws as estimates
from hashbench.scores.draws import median_interval, percentile_interval, undefined_share

DRAWS = np.linspace(-1.0, 3.0, 4_001)  # percentiles 2.5 and 97.5 are -0.9 and 2.9


def test_doctests() -> None:
    assert doctest.testmod(estimates, optionflags=doctest.ELLIPSIS).failed == 0


def test_percentiles_of_draws_need_not_be_symmetric() -> None:
    assert percentile_interval(DRAWS) == pytest.approx((-0.9, 2.9))
    assert percentile_interval(DRAWS, 0.5) == pytest.approx((0.0, 2.0))


def test_draws_without_a_value_are_left_out_and_counted() -> None:
    draws = np.array([np.nan, 0.2, 0.2, np.nan])
    assert percentile_interval(draws) == (0.2, 0.2) and undefined_share(draws) == 0.5
    assert percentile_interval(np.full(5, np.nan)) is None and percentile_interval(None) is None
    assert undefined_share(DRAWS) == undefined_share(None) == 0


@pytest.mark.parametrize("n", [*range(6, 40), 100])
def test_the_interval_of_the_median_is_the_narrowest_that_holds_it_often_enough(n: int) -> None:
    """Counted out: of the 2^n ways to lie above or below the median, those outside are at most 2.5 % on each side."""

    def outside(k: int) -> float:
        return sum(math.comb(n, below) for below in range(k)) / 2**n

    interval = median_interval([float(value) for value in range(1, n + 1)])
    assert interval is not None
    low, high = interval
    assert low + high == n + 1
    assert outside(int(low)) <= 0.025 < outside(int(low) + 1)
