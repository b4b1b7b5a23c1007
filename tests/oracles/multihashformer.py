"""MultiHashFormer's gate and cascade in plain Python, by the equations of Xue, Yamaguchi and Aletras (2026)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Vector = Sequence[float]
Matrix = Sequence[Vector]
Activation = Callable[[float], float]


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def linear(matrix: Matrix, x: Vector, bias: Vector | None = None) -> list[float]:
    products = [math.fsum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]
    return products if bias is None else [a + b for a, b in zip(products, bias, strict=True)]


def softmax(x: Vector) -> list[float]:
    top = max(x)
    powers = [math.exp(value - top) for value in x]
    return [power / math.fsum(powers) for power in powers]


def mean_of(rows: Matrix, weights: Vector) -> list[float]:
    return [math.fsum(w * row[i] for w, row in zip(weights, rows, strict=True)) for i in range(len(rows[0]))]


def gated(rows: Matrix, first: tuple[Matrix, Vector], second: tuple[Matrix, Vector]) -> tuple[list[float], list[float]]:
    """Scores and weights of K rows."""
    scores = [linear(second[0], [silu(x) for x in linear(first[0], row, first[1])], second[1])[0] for row in rows]
    return scores, softmax(scores)


def cascade(
    h: Vector,
    tables: Sequence[Matrix],
    steps: Sequence[tuple[Matrix, Vector, Matrix, Vector]],
    activation: Activation,
    bias: Matrix | None = None,
) -> list[list[float]]:
    """The logits of the K softmaxes; without `steps` all of them see the same state."""
    h, found = list(h), []
    for k, table in enumerate(tables):
        found.append(linear(table, h, None if bias is None else bias[k]))
        if k < len(steps):
            inner, inner_bias, outer, outer_bias = steps[k]
            expected = mean_of(table, softmax(found[k]))
            hidden = [activation(x) for x in linear(inner, [*h, *expected], inner_bias)]
            h = [a + b for a, b in zip(h, linear(outer, hidden, outer_bias), strict=True)]
    return found
