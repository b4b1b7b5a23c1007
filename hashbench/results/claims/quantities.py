"""A number as it was measured: its value, one of every seed, one of every draw of examples; and arithmetic with it.

Arithmetic on quantities is arithmetic on all three, seed by matched seed and draw by draw of the same examples, so that
whatever expression a claim asks for has its own two spreads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hashbench.results.claims.expressions import (
    ColumnName,
    ColumnPair,
    Columns,
    Every,
    Mean,
    Models,
    Number,
    Pair,
    column_names,
)
from hashbench.scores.estimates import Estimate, combine, example_share


@dataclass(frozen=True)
class Quantity:
    """`by_seed` None: no seed varies it (a constant, a count). `by_draw` (draws,) None: no examples, or not stored.

    `draws_of_seeds` are the draws of each seed by itself, each (draws,); of trivial baselines there are none.

    >>> Quantity(3.0).fixed
    True
    """

    value: float
    by_seed: Mapping[int, float] | None = None
    by_draw: np.ndarray | None = None
    n_examples: Mapping[str, int] = field(default_factory=dict)  # by task
    draws_of_seeds: Mapping[int, np.ndarray] | None = None

    @property
    def fixed(self) -> bool:
        """Whether nothing varies it."""
        return self.by_seed is None and self.by_draw is None

    def estimate(self) -> Estimate:
        """The value with its interval, as `hashbench compare` has it: what seeds and examples share counts once."""
        by_seed, draws = self.by_seed or {}, self.draws_of_seeds or {}
        return combine(
            self.value, list(by_seed.values()), self.by_draw, n_examples=sum(self.n_examples.values()),
            example_share=example_share(np.stack([draws[seed] for seed in by_seed])) if draws else 1.0,
        )  # fmt: skip


def apply(form: Callable[..., float], quantities: Sequence[Quantity]) -> Quantity:
    """A function of numbers taken of quantities: of the values, of each seed that all have, of each draw.

    >>> both = apply(lambda a, b: a - b, [Quantity(2.0, {0: 1.0, 1: 3.0}), Quantity(1.0, {1: 2.0})])
    >>> both.value, dict(both.by_seed)
    (1.0, {1: 1.0})
    """
    varying = [each for each in quantities if not each.fixed]
    value = _finite(form, [each.value for each in quantities])
    if not varying:
        return Quantity(value)
    seeds = [set(each.by_seed) for each in varying if each.by_seed is not None]
    by_seed = None  # of trivial baselines alone
    if seeds:
        by_seed = {
            seed: _finite(form, [each.value if each.by_seed is None else each.by_seed[seed] for each in quantities])
            for seed in sorted(set.intersection(*seeds))
        }
    by_draw = None
    if all(each.by_draw is not None for each in varying):
        by_draw = _of_draws(form, [each.by_draw for each in quantities], quantities)
    draws_of_seeds = None
    if by_seed and all(each.draws_of_seeds is not None for each in varying if each.by_seed is not None):
        draws_of_seeds = {
            seed: _of_draws(form, [_draws(each, seed) for each in quantities], quantities) for seed in by_seed
        }
    examples = {task: n for each in quantities for task, n in each.n_examples.items()}
    return Quantity(value, by_seed, by_draw, examples, draws_of_seeds if by_draw is not None else None)


def _draws(quantity: Quantity, seed: int) -> np.ndarray | None:
    """The draws of a seed (draws,); of what no seed varies its own."""
    return quantity.by_draw if quantity.draws_of_seeds is None else quantity.draws_of_seeds[seed]


def _of_draws(
    form: Callable[..., float], draws: Sequence[np.ndarray | None], quantities: Sequence[Quantity]
) -> np.ndarray:
    """The function's value in each draw (draws,): of arrays each (draws,), and of values where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (each.value if drawn is None else drawn for drawn, each in zip(draws, quantities, strict=True))
        return np.asarray(form(*values))


def _finite(form: Callable[..., float], values: Sequence[float]) -> float:
    """The function's value, NaN where it has none (a logarithm of 0, a division by it)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(form(*(np.float64(value) for value in values)))


def evaluate(
    models: Models, columns: Columns, leaf: Callable[[str, ColumnName], Quantity], *, scale: float = 1.0
) -> Quantity:
    """The value of an expression in which `min` and `max` are written out.

    `leaf` reads a model's column; constants are multiplied by `scale`.
    """
    if isinstance(models, Number):
        return Quantity(models.value * scale)
    if isinstance(models, Mean):
        return apply(mean, [evaluate(member, columns, leaf, scale=scale) for member in models.members])
    if isinstance(models, Pair):
        sides = [evaluate(side, columns, leaf, scale=scale) for side in (models.left, models.right)]
        return apply(minus if models.operator == "-" else over, sides)
    if isinstance(models, Every):
        raise TypeError(f"{models} is not written out")
    values = [leaf(models.slug, name) for name in column_names(columns)]
    if isinstance(columns, ColumnPair):
        return apply(minus, values)
    return apply(mean, values) if len(values) > 1 else values[0]


def mean(*values: float) -> float:
    """The mean, of numbers or of arrays."""
    return sum(values) / len(values)


def minus(left: float, right: float) -> float:
    """left - right."""
    return left - right


def over(left: float, right: float) -> float:
    """left / right."""
    return left / right
