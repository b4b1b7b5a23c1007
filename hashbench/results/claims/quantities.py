"""The value of a claim's expression of models in its columns."""

from __future__ import annotations

from collections.abc import Callable

from hashbench.results.claims.grammar import ColumnName, Columns, Every, Mean, Models, Number, Pair, column_names
from hashbench.scores.quantity import Quantity, apply, mean, minus, over


class Missing(LookupError):
    """Raised for a number that a claim needs and that the experiment or the reference data lack."""


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
