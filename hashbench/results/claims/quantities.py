"""A measured number with its values by seed and by draw of examples, and arithmetic with such numbers.

Arithmetic on quantities is arithmetic on all three, seed by matched seed and draw by draw of the same examples, so that
every expression of a claim has a spread over seeds and one over examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hashbench.results.claims.grammar import ColumnName, Columns, Every, Mean, Models, Number, Pair, column_names
from hashbench.scores.estimates import Estimate, SeedError, combine, example_share


class Missing(LookupError):
    """Raised for a number that a claim needs and that the experiment or the reference data lack."""


@dataclass(frozen=True)
class Quantity:
    """A number, with its values by training seed and by bootstrap draw of the test examples.

    `by_seed` None: no seed varies it (a constant, a count). `by_draw` (draws,) None: no examples, or not stored.
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
        """True if neither seeds nor draws vary the number."""
        return self.by_seed is None and self.by_draw is None

    def estimate(self, seed_error: SeedError | None = None) -> Estimate:
        """The value with its interval over seeds and examples, in which the spread that both share counts once.

        `seed_error`: that over seeds, in place of what the quantity's own seeds say.
        """
        by_seed, draws = self.by_seed or {}, self.draws_of_seeds or {}
        return combine(
            self.value, list(by_seed.values()), self.by_draw, n_examples=sum(self.n_examples.values()),
            example_share=example_share(np.stack([draws[seed] for seed in by_seed])) if draws else 1.0,
            seed_error=seed_error,
        )  # fmt: skip


def apply(form: Callable[..., float], quantities: Sequence[Quantity]) -> Quantity:
    """The function applied to quantities: to their values, seed by seed where all have the seed, and draw by draw.

    It is NaN where the function has no value (a logarithm of 0, a division by it).

    >>> both = apply(lambda a, b: a - b, [Quantity(2.0, {0: 1.0, 1: 3.0}), Quantity(1.0, {1: 2.0})])
    >>> both.value, dict(both.by_seed)
    (1.0, {1: 1.0})
    """

    def taken(numbers: Sequence[float | np.ndarray | None]) -> np.ndarray:
        """The function of one number, or of draws (draws,), for each quantity; None means the quantity's value."""
        pairs = zip(numbers, quantities, strict=True)
        arguments = [np.asarray(quantity.value if number is None else number) for number, quantity in pairs]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(form(*arguments))

    value = float(taken([None] * len(quantities)))
    varying = [quantity for quantity in quantities if not quantity.fixed]
    seeds = [set(quantity.by_seed) for quantity in varying if quantity.by_seed is not None]
    by_seed = by_draw = draws_of_seeds = None
    if seeds:  # none of trivial baselines alone
        by_seed = {
            seed: float(
                taken([None if quantity.by_seed is None else quantity.by_seed[seed] for quantity in quantities])
            )
            for seed in sorted(set.intersection(*seeds))
        }
    if varying and all(quantity.by_draw is not None for quantity in varying):
        by_draw = taken([quantity.by_draw for quantity in quantities])
        if by_seed and all(quantity.draws_of_seeds is not None for quantity in varying if quantity.by_seed is not None):
            draws_of_seeds = {seed: taken([_draws(quantity, seed) for quantity in quantities]) for seed in by_seed}
    examples = {task: n for quantity in varying for task, n in quantity.n_examples.items()}
    return Quantity(value, by_seed, by_draw, examples, draws_of_seeds)


def _draws(quantity: Quantity, seed: int) -> np.ndarray | None:
    """The draws of one seed (draws,), or those of the quantity where it has none by seed."""
    return quantity.by_draw if quantity.draws_of_seeds is None else quantity.draws_of_seeds[seed]


def evaluate(
    models: Models, columns: Columns, leaf: Callable[[str, ColumnName], Quantity], *, scale: float = 1.0
) -> Quantity:
    """The value of a model expression in some columns. It must not contain `min` or `max`.

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
    if isinstance(columns, Pair):
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
