"""Numbers with their intervals: against scipy, against what was put into simulated draws, and for every expression."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hashbench.scores import quantity
from hashbench.scores.quantity import Quantity, apply, difference, mean, minus, over

REAL = st.floats(-100, 100)
UNITS = st.lists(REAL, min_size=2, max_size=8)
Z = float(stats.norm.ppf(0.975))


def of(name: str, values: list[float], draws: np.ndarray | None = None, centre: float | None = None) -> Quantity:
    """A model with values (units,) and draws (units, draws)."""
    by_draw = None if draws is None else dict(enumerate(draws))
    return Quantity.of_units(name, dict(enumerate(values)), by_draw, None if draws is None else {"t": 100}, centre)


def test_doctests() -> None:
    assert doctest.testmod(quantity).failed == 0


def varied(values: list[float]) -> bool:
    return float(np.var(values)) > 1e-6


@given(UNITS.filter(varied), UNITS.filter(varied))
def test_a_difference_of_two_means_is_welchs(first: list[float], second: list[float]) -> None:
    found, welch = difference(of("a", first), of("b", second)), stats.ttest_ind(first, second, equal_var=False)
    estimate, expected = found.estimate(), welch.confidence_interval()
    if len(first) == len(second) or min(len(first), len(second)) >= 4:
        assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-9)
        assert found.chance() == pytest.approx(welch.pvalue, rel=1e-6, abs=1e-9)
    else:  # few units beside more: as unsure as the few are by themselves
        assert estimate.low <= expected.low + 1e-9 and estimate.high >= expected.high - 1e-9
    assert (estimate.spread, estimate.n_seeds) == ("seeds", min(len(first), len(second)))


@given(UNITS)
def test_a_mean_has_students_interval(values: list[float]) -> None:
    found = of("a", values).estimate()
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    assert (found.low, found.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=1e-9)


@pytest.mark.parametrize(
    ("form", "slope"),
    [(minus, (1, -1)), (mean, (0.5, 0.5)), (over, (1 / 80, -60 / 80**2)), (lambda a, b: 3 * a - b / 2, (3, -0.5))],
)
def test_an_expression_varies_by_its_slopes(form: Callable[..., float], slope: tuple[float, float]) -> None:
    """Of small deviations the variance is that of the linear part, for each model by itself."""
    random = np.random.default_rng(0)
    first, second = 60 + 0.01 * random.standard_normal(5), 80 + 0.02 * random.standard_normal(7)
    found = apply(form, [of("a", first.tolist()), of("b", second.tolist())]).uncertain
    expected = [
        factor**2 * values.var(ddof=1) / len(values) for factor, values in zip(slope, (first, second), strict=True)
    ]
    assert [part.of_units for part in found.variances.values()] == pytest.approx(expected, rel=1e-3)


def test_a_model_in_two_columns_keeps_its_units() -> None:
    """Its gain from one column to the other varies less than either."""
    random = np.random.default_rng(0)
    shared = random.standard_normal(4)
    first, second = of("a", (70 + shared).tolist()), of("a", (60 + shared + 0.01 * random.standard_normal(4)).tolist())
    gain = apply(minus, [first, second]).estimate()
    assert gain.high - gain.low < 0.1 < first.estimate().high - first.estimate().low
    with pytest.raises(ValueError, match="a has other units in two parts of one number"):
        apply(minus, [first, Quantity.of_units("a", {7: 1.0, 8: 2.0})])


@given(UNITS, UNITS, st.integers(0, 100))
def test_the_faster_difference_is_the_expression(first: list[float], second: list[float], seed: int) -> None:
    random = np.random.default_rng(seed)
    sides = [
        of(name, values, random.standard_normal((len(values), 40))) for name, values in (("a", first), ("b", second))
    ]
    fast, slow = difference(*sides).estimate(), apply(minus, sides).estimate()
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), rel=1e-9, abs=1e-9)
    assert (fast.n_seeds, fast.n_examples, fast.spread) == (slow.n_seeds, slow.n_examples, slow.spread)


def made(units: int, of_examples: float, together: float, of_units: float, seed: int = 0) -> Quantity:
    """A model whose units, draws and both together vary by these standard deviations."""
    random = np.random.default_rng(seed)
    values = of_units * random.standard_normal(units)
    draws = of_examples * random.standard_normal(20_000) + together * random.standard_normal((units, 20_000))
    return of("a", values.tolist(), values[:, None] + draws)


def test_what_units_and_examples_vary_only_together_counts_once() -> None:
    """Draws of variance 4 that all five units share and 5 of each unit's own: 4 are of the examples alone."""
    found = made(5, 2.0, math.sqrt(5), 10.0).uncertain
    (part,) = found.variances.values()
    assert part.together == pytest.approx(1.0, rel=0.05)
    assert found.of_draws == pytest.approx(5.0, rel=0.05)
    by_units = stats.t.ppf(0.975, 4) * math.sqrt(part.of_units)
    assert found.half_width() == pytest.approx(math.hypot(by_units, Z * 2), rel=0.02)


def test_units_that_agree_leave_the_interval_over_examples() -> None:
    found = made(4, 1.0, 3.0, 0.0).uncertain
    assert found.half_width() == pytest.approx(Z * math.sqrt(found.of_draws or 0))


def test_one_unit_is_of_these_trained_models() -> None:
    random = np.random.default_rng(0)
    alone, several = of("a", [1.0], random.standard_normal((1, 500))), of("b", [0.0, 9.0], np.zeros((2, 500)))
    found = difference(alone, several).estimate()
    assert (found.spread, found.n_seeds) == ("examples", 1)
    assert found.high - found.low == pytest.approx(2 * Z * alone.by_draw.std())
    assert difference(of("a", [1.0]), several).estimate().spread == "none"


def test_a_trivial_baseline_has_no_units() -> None:
    values = [80.0, 81.0, 83.0, 82.0]
    found, test = difference(of("a", values), Quantity(78.0)), stats.ttest_1samp(values, 78.0)
    ends = test.confidence_interval()
    assert (found.estimate().low, found.estimate().high) == pytest.approx((ends.low - 78, ends.high - 78))
    assert difference(Quantity(3.0), Quantity(1.0)).estimate().spread == "none"


def test_a_median_has_the_interval_of_the_mean_about_it() -> None:
    found, plain = of("a", [1.0, 2.0, 9.0], centre=2.0).estimate(), of("a", [1.0, 2.0, 9.0]).estimate()
    assert found.value == 2.0 and found.high - found.low == pytest.approx(plain.high - plain.low)


def test_draws_without_a_value_are_left_out_and_counted() -> None:
    draws = np.array([[1.0, np.nan, 2.0, 3.0], [1.0, 5.0, 2.0, 3.0]])
    found = of("a", [1.0, 1.0], draws).estimate()
    assert found.undefined == 0.25 and found.high - 1 == pytest.approx(Z * np.std([1.0, 2.0, 3.0]))
    undefined = apply(over, [Quantity(1.0), of("a", [0.0, 0.0])]).estimate()
    assert math.isnan(undefined.low)


@pytest.mark.parametrize(("n_first", "n_second"), [(2, 2), (3, 3), (4, 4), (2, 4), (2, 8), (3, 8), (4, 8), (8, 2)])
@pytest.mark.parametrize("times", [1.0, 4.0])
def test_coverage(n_first: int, n_second: int, times: float) -> None:
    """Of simulated pairs, one of which deviates up to four times as far (16-fold variance)."""
    random, held = np.random.default_rng(0), []
    for _ in range(1_000):
        sides = random.standard_normal(n_first), times * random.standard_normal(n_second)
        found = difference(*(of(name, side.tolist()) for name, side in zip("ab", sides, strict=True))).estimate()
        held.append(found.low <= 0 <= found.high)
    assert np.mean(held) >= 0.92  # 0.935 with a standard error of 0.008
