"""Metrics of drawn examples in plain Python: each draw is written out, each metric computed from its definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def draw(score, targets: Sequence, outputs: Sequence, counts: Sequence[int]) -> float | None:
    """The score of the examples as often as they were drawn."""
    rows = [i for i, count in enumerate(counts) for _ in range(count)]
    return score([targets[i] for i in rows], [outputs[i] for i in rows])


def accuracy(targets: Sequence[int], predicted: Sequence[int]) -> float:
    return sum(t == p for t, p in zip(targets, predicted, strict=True)) / len(targets)


def _class_f1(targets: Sequence[int], predicted: Sequence[int], label: int) -> float | None:
    hits = sum(t == p == label for t, p in zip(targets, predicted, strict=True))
    both = list(targets).count(label) + list(predicted).count(label)
    return 2 * hits / both if both else None


def f1(targets: Sequence[int], predicted: Sequence[int]) -> float | None:
    return _class_f1(targets, predicted, 1)


def f1_macro(targets: Sequence[int], predicted: Sequence[int]) -> float:
    scores = [_class_f1(targets, predicted, label) for label in set(targets) | set(predicted)]
    return sum(score for score in scores if score is not None) / len(scores)


def matthews(targets: Sequence[int], predicted: Sequence[int]) -> float:
    """The correlation of class indicators, summed over classes; 0 where a side is constant."""
    n, labels = len(targets), sorted(set(targets) | set(predicted))

    def covariance(a: Sequence[int], b: Sequence[int]) -> float:
        return sum(
            sum((x == label) * (y == label) for x, y in zip(a, b, strict=True)) / n
            - (list(a).count(label) / n) * (list(b).count(label) / n)
            for label in labels
        )

    square = covariance(targets, targets) * covariance(predicted, predicted)
    return covariance(targets, predicted) / math.sqrt(square) if square > 1e-15 else 0.0


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(set(x)) == 1 or len(set(y)) == 1:
        return None
    a, b = sum(x) / len(x), sum(y) / len(y)
    shared = sum((p - a) * (q - b) for p, q in zip(x, y, strict=True))
    return shared / math.sqrt(sum((p - a) ** 2 for p in x) * sum((q - b) ** 2 for q in y))


def ranks(values: Sequence[float]) -> list[float]:
    """1 for the least; equal values share the mean of their ranks."""
    counts, below, found = Counter(values), 0, {}
    for value in sorted(counts):
        found[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return [found[value] for value in values]


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    return pearson(ranks(x), ranks(y))


METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "f1_macro": f1_macro,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
}
