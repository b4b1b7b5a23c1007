"""The group of models that are not separable from the best: simulated worlds, and what follows from its definition."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.scores import draws as best
from hashbench.scores.best import holm, ranks, variance_shares
from hashbench.scores.quantity import Quantity, difference
from tests.scores.best_simulation import World, best_of, simulate

N = 1_000


def _models(scores: np.ndarray) -> list[Quantity]:
    """Models with a score for each unit (models, units)."""
    return [Quantity.of_units(model, dict(enumerate(of.tolist()))) for model, of in enumerate(scores)]


def _ranks(models: list[Quantity]) -> list[tuple[int, int]]:
    return ranks([model.value for model in models], lambda i, j: difference(models[i], models[j]))


def _around(above: list[float], units: int = 4, seed: int = 0) -> list[Quantity]:
    random = np.random.default_rng(seed)
    return _models(np.array(above)[:, None] + 0.3 * random.standard_normal((len(above), units)))


def test_doctests() -> None:
    assert doctest.testmod(best).failed == 0


def test_models_far_below_are_outside_and_ranks_say_so() -> None:
    models = _around([50.0, 50.1, 20.0, 20.1])
    assert best_of(models) == [True, True, False, False]
    assert _ranks(models) == [(1, 2), (1, 2), (3, 4), (3, 4)]


def test_equal_models_are_all_in_the_group_and_have_every_rank() -> None:
    models = _around([50.0, 50.0, 50.0])
    assert best_of(models) == [True] * 3 and _ranks(models) == [(1, 3)] * 3


def test_scores_without_any_spread_separate_what_differs() -> None:
    assert best_of(_models(np.full((3, 3), 0.5))) == [True] * 3
    assert best_of(_models(np.array([[0.5] * 3, [0.5] * 3, [0.4] * 3]))) == [True, True, False]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_steps_by_their_definition(chances: list[float]) -> None:
    """A p-value is below its step where all smaller ones are below theirs."""
    ordered = sorted(chances)
    allowed = [0.05 / (len(chances) - step) for step in range(len(chances))]
    n = next((step for step, p in enumerate(ordered) if p > allowed[step] + 1e-15), len(chances))
    assert sum(holm(chances)) == n
    assert all(p <= ordered[n - 1] for p, below in zip(chances, holm(chances), strict=True) if below)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=6), st.integers(3, 5), st.integers(0, 100))
def test_the_best_is_in_the_group_whatever_the_scores(above: list[float], units: int, seed: int) -> None:
    models = _around(above, units, seed)
    values = [model.value for model in models]
    members, intervals = best_of(models), _ranks(models)
    top = int(np.argmax(values))
    assert members[top] and intervals[top][0] == 1
    for value, (first, last) in zip(values, intervals, strict=True):
        assert first <= 1 + sum(other > value for other in values) <= last


def test_two_models_are_apart_where_their_interval_is_without_zero() -> None:
    for seed in range(60):
        models = _around([1.0, 0.5], 3, seed)
        found = difference(*models).estimate()
        assert (best_of(models) == [True, True]) == (found.low <= 0 <= found.high)


def test_shares_of_variance_sum_to_one() -> None:
    parts = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 2.0, 3.0, 0.0]
    shares = variance_shares(parts)
    assert shares.sum() == pytest.approx(1) and shares[3] == 0
    assert shares.tolist() == pytest.approx([1 / 14, 4 / 14, 9 / 14, 0], abs=0.2)
    assert np.isnan(variance_shares(np.ones((3, 2)))).all()


@pytest.mark.e2e
@pytest.mark.parametrize("unstable", [1.0, 4.0])
def test_fifty_worlds(unstable: float) -> None:
    """Bounds of four standard errors below the shares that a thousand worlds are held to."""
    equal = simulate(World(5, "equal", unstable, examples=200), 50)
    assert equal.all_in >= 0.80
    below = simulate(World(5, "one below", unstable, examples=200), 50)
    assert below.best_in >= 0.80


@pytest.mark.parametrize("n_models", [5, 23])
def test_equally_good_models_are_all_in_the_group(n_models: int) -> None:
    random = np.random.default_rng(0)
    spreads = np.where(np.arange(n_models) % 3 == 0, 4.0, 1.0)[:, None]  # some deviate four times as far
    found = [all(best_of(_models(spreads * random.standard_normal((n_models, 4))))) for _ in range(100)]
    assert np.mean(found) >= 0.9


def test_a_ladder_of_models_has_a_small_group_with_the_best_in_it() -> None:
    """Four units, steps of one standard deviation."""
    random, sizes = np.random.default_rng(0), []
    for _ in range(100):
        members = best_of(_models(np.arange(10.0)[:, None] + random.standard_normal((10, 4))))
        assert members[9]
        sizes.append(sum(members))
    assert np.mean(sizes) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("models", [5, 23, 50])
@pytest.mark.parametrize("seeds", [3, 4])
@pytest.mark.parametrize("unstable", [1.0, 4.0])
def test_a_thousand_worlds_of_equal_models(models: int, seeds: int, unstable: float) -> None:
    found = simulate(World(models, "equal", unstable, seeds=seeds), N)
    assert found.all_in >= 0.9 and found.best_in >= 0.98, found


@pytest.mark.slow
@pytest.mark.parametrize("models", [5, 23, 50])
@pytest.mark.parametrize("unstable", [1.0, 4.0])
@pytest.mark.parametrize("kind", ["one below", "one above", "ladder"])
def test_a_thousand_worlds_with_a_model_four_standard_errors_below(models: int, unstable: float, kind: str) -> None:
    found = simulate(World(models, kind, unstable, seeds=4), N)
    assert found.best_in >= 0.98, found


@pytest.mark.slow
@pytest.mark.parametrize("models", [5, 23, 50])
@pytest.mark.parametrize("kind", ["one below", "one above", "ladder"])
def test_a_thousand_worlds_whose_best_is_unstable(models: int, kind: str) -> None:
    assert simulate(World(models, kind, 4.0, unstable_is_best=True, seeds=4), N).best_in >= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["matthews", "f1"])
def test_a_thousand_worlds_of_averages_by_other_metrics(metric: str) -> None:
    assert simulate(World(5, "equal", tasks=3, metric=metric, examples=300), N).all_in >= 0.9
