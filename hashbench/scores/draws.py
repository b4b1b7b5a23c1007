"""Metrics of examples (or pages) drawn with replacement, for all draws and all models at once.

Draws depend on the seed and on the number of examples alone: what two calls draw from the same examples is paired.

An estimate is a value with its interval, of a median or of draws. `quantity.py` makes estimates of models' scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hashbench.scores.base import CELLS, DrawScorer, find_metric

DRAWS = 10_000


@dataclass(frozen=True)
class Scored:
    """A metric with targets (n,), outputs of several runs, and units, as `drawn` takes them."""

    metric: str
    targets: np.ndarray
    outputs: Sequence[np.ndarray]
    units: np.ndarray | None = None


def drawn(
    metric: str,
    targets: np.ndarray,
    outputs: Sequence[np.ndarray],
    *,
    draws: int = DRAWS,
    seed: int,
    units: np.ndarray | None = None,
) -> np.ndarray:
    """The metric of each run's outputs in each draw: (len(outputs), draws), NaN where it is undefined.

    `targets` (n,), `outputs` as the metric takes them: (n,), (n, C) or (n, 3 + m). As many examples are drawn as there
    are. `units` (n,): what is drawn instead, every example of a unit with it (a page of links). A metric of rankings
    may end in ' tenth=3': cases of one decile by frequency. A metric with strata draws as many of each as there are.

    Raises InputError for an unknown metric, ValueError for units where they cannot be drawn.
    """
    return drawn_together([Scored(metric, targets, outputs, units)], draws=draws, seed=seed)[0]


def drawn_together(parts: Sequence[Scored], *, draws: int = DRAWS, seed: int) -> list[np.ndarray]:
    """The result of `drawn` for each part, in less time: what draws from equally many units draws once. Raises so too.

    The outputs of one part have the same kind; different parts may have different kinds.
    """
    results = [np.empty((len(part.outputs), draws)) for part in parts]
    # By what is drawn: the number of units, and the strata
    groups: dict[tuple[int, bytes], list[tuple[DrawScorer, np.ndarray | None, np.ndarray]]] = {}
    for part, result in zip(parts, results, strict=True):
        if len(part.outputs):
            metric = find_metric(part.metric)
            scorer, strata = metric.scorer(part.targets, part.outputs, part.units), metric.strata(part.targets)
            key = scorer.n_units, b"" if strata is None else strata.tobytes()
            groups.setdefault(key, []).append((scorer, strata, result))
    for (n, _), members in groups.items():
        at = 0
        for counts in draw_counts(n, draws, seed, max(scorer.cells for scorer, _, _ in members), members[0][1]):
            for scorer, _, result in members:
                rows = max(1, scorer.cells // n)  # the most that it scores at a time
                for row in range(0, len(counts), rows):
                    scores = scorer.scores(counts[row : row + rows])
                    result[:, at + row : at + row + scores.shape[1]] = scores
            at += len(counts)
    return results


def draw_counts(
    n: int, draws: int, seed: int, cells: int = CELLS, strata: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Blocks (block, n) of how often each of n examples is in a draw of n; the same draws whatever the block's size.

    `strata` (n,): of each there are as many examples in a draw as there are in all.
    """
    generator = np.random.default_rng(seed)
    block = max(1, cells // n)
    if strata is not None:
        yield from _within(strata, draws, block, generator)
        return
    for start in range(0, draws, block):
        size = min(block, draws - start)
        # 32 bits at a time: the generator keeps what is left of a word, so that blocks do not change the sequence
        rows = generator.integers(0, n, size=(size, n), dtype=np.uint32).astype(np.intp)
        rows += n * np.arange(size)[:, None]
        yield np.bincount(rows.reshape(-1), minlength=size * n).reshape(size, n)


def _within(strata: np.ndarray, draws: int, block: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Blocks (block, n) of counts of examples drawn within their strata (n,)."""
    n, order = len(strata), np.argsort(strata, kind="stable")
    _, starts, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)  # (n,) of each place in the order
    first = first + n * np.arange(min(block, draws))[:, None]  # (block, n)
    in_order = bool((np.diff(strata) >= 0).all())
    back = np.empty(n, np.intp)
    back[order] = np.arange(n)
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        shares = generator.random((rows, n))
        shares *= size
        places = shares.astype(np.intp)
        places += first[:rows]
        counts = np.bincount(places.reshape(-1), minlength=rows * n).reshape(rows, n)
        yield counts if in_order else counts[:, back]


CONFIDENCE = 0.95
Spread = Literal["seeds and examples", "seeds", "examples", "none"]


@dataclass(frozen=True)
class Estimate:
    """A value in its natural range and the ends of its interval, NaN where `spread` is "none".

    `n_seeds`: the fewest units of a model (pre-trainings, or trainings), 0 where nothing is random; `n_examples`
    likewise. One unit has no spread: `spread` then is "examples", and the interval speaks of these trained models, not
    of their methods.
    """

    value: float
    low: float
    high: float
    n_seeds: int = 0
    n_examples: int = 0
    spread: Spread = "none"
    undefined: float = 0.0  # share of the draws without a value, which the interval leaves out


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """An interval of the median, between two of the sorted values, that holds for any distribution.

    The number of values below the median is binomial, so the k-th lowest and the k-th highest hold it between them with
    a known probability. None where even the lowest and the highest do not reach the confidence: below six values for
    95 %.

    >>> median_interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0]), median_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    ((1.0, 6.0), None)
    """
    from scipy import special

    n = len(values)
    # The largest k for which fewer than k of n values lie below the median with no more than the tail's probability.
    k = int(np.searchsorted(special.bdtr(np.arange(n + 1), n, 0.5), (1 - confidence) / 2)) if n else 0
    ordered = sorted(values)
    return (ordered[k - 1], ordered[n - k]) if k else None


def percentile_interval(draws: np.ndarray | None, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """The percentiles of the draws (draws,) that have a value; None where none has."""
    finite = draws[np.isfinite(draws)] if draws is not None else np.empty(0)
    if not finite.size:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(low), float(high)


def undefined_share(draws: np.ndarray | None) -> float:
    """The share of the draws (draws,) without a value; 0 of None."""
    return 0.0 if draws is None else float(np.isnan(draws).mean())
