"""A value with its interval: over seeds by Student's t, over examples by percentiles of draws, over both together.

The two spreads are taken about the same value and their deviations from it add in quadrature, on each side by itself:
a percentile interval need not be symmetric. On neither side is the sum narrower than the interval over examples alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

CONFIDENCE = 0.95
Spread = Literal["seeds and examples", "seeds", "examples", "none"]


@dataclass(frozen=True)
class Estimate:
    """A value in its natural range and the ends of its interval, NaN where `spread` is "none".

    `n_seeds`: values that the interval over seeds comes from, 0 where it has no seeds; `n_examples` likewise. One seed
    has no spread: `spread` then is "examples", and the interval speaks of these trained models, not of their methods.
    """

    value: float
    low: float
    high: float
    n_seeds: int = 0
    n_examples: int = 0
    spread: Spread = "none"
    undefined: float = 0.0  # share of the draws without a value, which the interval leaves out


@dataclass(frozen=True)
class SeedError:
    """The standard error of a value over seeds, and its degrees of freedom: known of more models than the value's."""

    error: float
    freedom: int

    def times(self, factor: float) -> SeedError:
        """The error of the value times a factor above 0."""
        return SeedError(self.error * factor, self.freedom)

    def interval(self, value: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Student's interval of the value.

        >>> SeedError(1 / math.sqrt(3), 2).interval(2.0)  # as t_interval([1.0, 2.0, 3.0])
        (-0.484137..., 4.484137...)
        """
        from scipy import special  # half a second to load, which tables without intervals need not wait

        half = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return value - half, value + half


def combine(
    value: float,
    by_seed: Sequence[float] | None,
    by_draw: np.ndarray | None,
    *,
    n_examples: int = 0,
    confidence: float = CONFIDENCE,
    example_share: float = 1.0,
    seed_error: SeedError | None = None,
) -> Estimate:
    """The value with its interval over seeds (n,) and draws of examples (draws,); either may be missing.

    Differences are taken before: one a matched seed, one a draw with the same examples on both sides. Draws without a
    value (NaN) are left out and counted.

    What seeds and examples vary only together is in both intervals, so that their sum is too wide (measured: it covers
    97 to 99 % with three to five seeds). `example_share` of the draws' variance is that of the examples alone: with the
    function of that name, and two or more seeds, each part counts once. Few seeds can agree by chance: so each side is
    at least as wide as over the examples of these trained models alone. `seed_error` replaces that of the seeds.
    """
    seeds = list(by_seed) if by_seed is not None else []
    over_seeds = seed_error.interval(value, confidence) if seed_error else t_interval(seeds, confidence)
    over_draws = percentile_interval(by_draw, confidence)
    spread = _spread(over_seeds is not None, over_draws is not None)
    if over_seeds is None and over_draws is None:
        return Estimate(value, math.nan, math.nan, len(seeds), n_examples)
    of_seeds, of_draws = (_deviations(value, interval) for interval in (over_seeds, over_draws))
    factor = math.sqrt(example_share) if over_seeds else 1.0
    below, above = (
        max(by_draw, math.hypot(by_seed, factor * by_draw)) for by_seed, by_draw in zip(of_seeds, of_draws, strict=True)
    )
    return Estimate(value, value - below, value + above, len(seeds), n_examples, spread, undefined_share(by_draw))


def over_units(values: np.ndarray, units: Sequence[Hashable]) -> np.ndarray:
    """Values (seeds, ...) averaged over the seeds of each unit: (units, ...), in the order in which units come first.

    The unit of a fine-tuning is its pre-training, where there are several: fine-tunings of one are no new sample.

    >>> over_units(np.array([1.0, 5.0, 2.0, 7.0]), [0, 1, 0, 1]).tolist()
    [1.5, 6.0]
    """
    if not len(units):
        return values
    places = {unit: np.array([other == unit for other in units]) for unit in dict.fromkeys(units)}
    return np.stack([values[of_unit].mean(axis=0) for of_unit in places.values()])


def combine_matched(
    by_seed: Sequence[float],
    by_seed_and_draw: np.ndarray | None,
    *,
    n_examples: int = 0,
    units: Sequence[Hashable] | None = None,
    seed_error: SeedError | None = None,
) -> Estimate:
    """The mean over seeds (n,) with an interval that counts once what seeds and examples vary only together.

    (n, draws): the same seeds, each in every draw of the examples; None without stored predictions. `units` (n,): what
    was drawn independently, in place of the seeds (`over_units`). `seed_error`: as of `combine`.
    """
    if units is not None:
        by_seed = over_units(np.asarray(by_seed), units).tolist()
        by_seed_and_draw = None if by_seed_and_draw is None else over_units(by_seed_and_draw, units)
    value = float(np.mean(by_seed))
    if by_seed_and_draw is None:
        return combine(value, by_seed, None, n_examples=n_examples, seed_error=seed_error)
    share, by_draw = example_share(by_seed_and_draw), by_seed_and_draw.mean(axis=0)
    return combine(value, by_seed, by_draw, n_examples=n_examples, example_share=share, seed_error=seed_error)


def _deviations(value: float, interval: tuple[float, float] | None) -> tuple[float, float]:
    """How far an interval's ends are below and above a value; 0 where there is none."""
    return (max(0.0, value - interval[0]), max(0.0, interval[1] - value)) if interval else (0.0, 0.0)


def example_share(by_seed_and_draw: np.ndarray) -> float:
    """Share, 0 to 1, of the variance of draws averaged over seeds that more seeds would not take away.

    (seeds, draws): of one seed's draws the variance is E + J, of their mean over n seeds E + J / n, with E of the
    examples and J of examples and seeds together; the share is E / (E + J / n). 1 for one seed.

    Seeds that agree on every draw, and seeds that have nothing in common:

    >>> example_share(np.array([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, 1.0, -1.0]]))
    1.0
    >>> example_share(np.array([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]))
    0.0
    """
    n = len(by_seed_and_draw)
    finite = by_seed_and_draw[:, np.isfinite(by_seed_and_draw).all(axis=0)]
    of_mean = float(finite.mean(axis=0).var()) if finite.size else 0.0
    if n < 2 or of_mean == 0.0:
        return 1.0
    together = (float(finite.var(axis=1).mean()) - of_mean) / (n - 1)
    return min(1.0, max(0.0, 1 - together / of_mean))


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Student's interval of the mean, n - 1 degrees of freedom; None for fewer than two values.

    >>> t_interval([1.0, 2.0, 3.0])  # 2 -+ 4.3027 / sqrt(3)
    (-0.484137..., 4.484137...)
    """
    n = len(values)
    if n < 2:
        return None
    return SeedError(float(np.std(values, ddof=1)) / math.sqrt(n), n - 1).interval(float(np.mean(values)), confidence)


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


def _spread(has_seeds: bool, has_draws: bool) -> Spread:
    if has_seeds and has_draws:
        return "seeds and examples"
    return "seeds" if has_seeds else "examples" if has_draws else "none"
