"""Which pre-trainings did not get over their plateau."""

from __future__ import annotations

from types import SimpleNamespace

from hashbench.results.read.doubts import JUMPED, before_the_jump, separations
from hashbench.results.tables.notes import jump_warning


def measured(*rows: tuple[str, int | None, float]) -> SimpleNamespace:
    found = [{"model": model, "seed": seed, "value": value} for model, seed, value in rows]
    return SimpleNamespace(separations=separations(lambda sql, **key: found, 1))


def test_models_below_the_threshold_are_named_with_their_seeds() -> None:
    some = measured(("a", 0, 0.51), ("b", 0, 0.9), ("a", 1, JUMPED), ("c", 0, 0.59), ("c", 1, 0.5))
    assert before_the_jump(some.separations) == {"a": [(0, 0.51)], "c": [(0, 0.59), (1, 0.5)]}
    (line,) = jump_warning(some)
    assert line.startswith("NOT JUMPED: a (seed 0: 0.51); c (seed 0: 0.59, seed 1: 0.50): ")


def test_nothing_is_said_of_pretrainings_that_jumped_or_are_not_judged() -> None:
    assert jump_warning(measured(("b", 0, 0.9))) == jump_warning(measured()) == []
