"""Intervals by hand: Student's table, percentiles, and deviations in quadrature on each side."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.scores import estimates
from hashbench.scores.estimates import (
    SeedError,
    combine,
    combine_matched,
    example_share,
    median_interval,
    percentile_interval,
    t_interval,
)

T_2, T_4 = 4.302653, 2.776445  # 97.5 % points with 2 and 4 degrees of freedom, from the printed table
DRAWS = np.linspace(-1.0, 3.0, 4_001)  # percentiles 2.5 and 97.5 are -0.9 and 2.9


def test_doctests() -> None:
    assert doctest.testmod(estimates, optionflags=doctest.ELLIPSIS).failed == 0


def test_seeds_alone() -> None:
    found = combine(2.0, [1.0, 2.0, 3.0], None)
    assert (found.low, found.high) == pytest.approx((2 - T_2 / math.sqrt(3), 2 + T_2 / math.sqrt(3)), abs=1e-5)
    assert (found.spread, found.n_seeds, found.n_examples) == ("seeds", 3, 0)


def test_five_seeds_have_four_degrees_of_freedom() -> None:
    low, high = t_interval([0.0, 0.0, 0.0, 0.0, 1.0]) or (0, 0)
    assert (high - low) / 2 == pytest.approx(T_4 * math.sqrt(0.2) / math.sqrt(5), abs=1e-5)


def test_examples_alone_need_not_be_symmetric() -> None:
    found = combine(0.0, [0.0], DRAWS, n_examples=500)
    assert (found.low, found.high) == pytest.approx((-0.9, 2.9))
    assert (found.spread, found.n_seeds, found.n_examples) == ("examples", 1, 500)


def test_both_add_in_quadrature_on_each_side() -> None:
    half = T_2 / math.sqrt(3)
    found = combine(0.0, [-1.0, 0.0, 1.0], DRAWS)
    assert found.low == pytest.approx(-math.hypot(half, 0.9), abs=1e-5)
    assert found.high == pytest.approx(math.hypot(half, 2.9), abs=1e-5)
    assert found.spread == "seeds and examples"


def test_an_interval_that_lies_beside_the_value_adds_nothing_on_the_other_side() -> None:
    found = combine(-1.5, None, DRAWS)
    assert (found.low, found.high) == pytest.approx((-1.5, 2.9))


def test_no_spread_has_no_interval() -> None:
    found = combine(0.3, [0.3], None)
    assert (found.value, found.spread) == (0.3, "none") and math.isnan(found.low) and math.isnan(found.high)
    assert combine(0.3, None, np.full(5, np.nan)).spread == "none"
    assert combine(0.3, [0.2, 0.4], np.full(5, np.nan)).spread == "seeds"


def test_draws_without_a_value_are_left_out_and_counted() -> None:
    assert combine(0.2, None, np.array([np.nan, 0.2, 0.2, np.nan])).undefined == 0.5
    assert combine(0.2, None, DRAWS).undefined == 0
    assert percentile_interval(np.array([np.nan, 0.2, 0.2, np.nan])) == (0.2, 0.2)


def test_the_confidence_is_a_choice() -> None:
    assert combine(1.0, None, DRAWS, confidence=0.5).high == pytest.approx(2.0)


def test_only_the_examples_own_share_is_added_to_that_of_seeds() -> None:
    half = T_2 * 2 / math.sqrt(3)
    found = combine(0.0, [-2.0, 0.0, 2.0], DRAWS, example_share=0.25)
    assert found.high == pytest.approx(math.hypot(half, 2.9 / 2), abs=1e-5)
    assert found.low == pytest.approx(-math.hypot(half, 0.9 / 2), abs=1e-5)
    assert combine(0.0, [0.0], DRAWS, example_share=0.25).high == pytest.approx(2.9)  # one seed: no other interval


@pytest.mark.parametrize("by_seed", [[0.5, 0.5, 0.5], [0.499, 0.501], [0.45, 0.5, 0.55]])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_seeds_that_agree_leave_the_interval_over_draws(by_seed: list[float], share: float) -> None:
    ends = percentile_interval(DRAWS)
    assert ends is not None
    found = combine(0.5, by_seed, DRAWS, example_share=share)
    assert (found.low, found.high) == pytest.approx(ends)


REAL = st.floats(-10, 10)


@given(
    st.lists(REAL, min_size=2, max_size=6),
    st.lists(REAL, min_size=1, max_size=30),
    st.floats(0, 1),
    st.none() | st.builds(SeedError, st.floats(0, 10), st.integers(1, 20)),
)
def test_an_interval_over_both_holds_the_one_over_seeds_and_the_one_over_draws(
    by_seed: list[float], by_draw: list[float], share: float, error: SeedError | None
) -> None:
    value, draws = float(np.mean(by_seed)), np.array(by_draw)
    found = combine(value, by_seed, draws, example_share=share, seed_error=error)
    for alone in (combine(value, None, draws), combine(value, by_seed, None, seed_error=error)):
        assert found.low <= alone.low + 1e-9 and alone.high <= found.high + 1e-9


def test_the_share_of_examples_is_that_of_a_known_sum() -> None:
    """Draws of variance 4 that all five seeds share and 5 of each seed's own: E / (E + J / n) = 4 / (4 + 1)."""
    random = np.random.default_rng(0)
    draws = 2 * random.standard_normal(20_000) + math.sqrt(5) * random.standard_normal((5, 20_000))
    assert example_share(draws) == pytest.approx(0.8, abs=0.02)
    assert example_share(draws[:1]) == 1.0
    assert example_share(np.full((3, 4), np.nan)) == 1.0


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


def test_seeds_of_one_unit_are_one_value() -> None:
    random = np.random.RandomState(0)
    by_seed, draws = random.rand(4), random.rand(4, 50)
    means, of_means = (by_seed[:2] + by_seed[2:]) / 2, (draws[:2] + draws[2:]) / 2
    assert combine_matched(by_seed, draws, units=[0, 1, 0, 1]) == combine_matched(means, of_means)
    assert combine_matched(by_seed, draws, units=[5, 6, 7, 8]) == combine_matched(by_seed, draws)
    assert combine_matched(by_seed, None, units=[0, 1, 0, 1]).n_seeds == 2
