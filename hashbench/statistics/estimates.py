"""A value with its interval: over seeds by Student's t, over examples by percentiles of draws, over both together.

The two spreads are taken about the same value and their deviations from it add in quadrature, on each side by itself:
a percentile interval need not be symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

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


def combine(
    value: float,
    by_seed: Sequence[float] | None,
    by_draw: np.ndarray | None,
    *,
    n_examples: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The value with its interval over seeds (n,) and draws of examples (draws,); either may be missing.

    Differences are taken before: one a matched seed, one a draw with the same examples on both sides. Draws without a
    value (NaN) are left out.
    """
    seeds = list(by_seed) if by_seed is not None else []
    ends = [
        found
        for found in (t_interval(seeds, confidence), percentile_interval(by_draw, confidence))
        if found is not None
    ]
    spread = _spread(len(seeds) > 1, by_draw is not None and len(ends) > (len(seeds) > 1))
    if not ends:
        return Estimate(value, math.nan, math.nan, len(seeds), n_examples)
    below = math.hypot(*(max(0.0, value - low) for low, _ in ends))
    above = math.hypot(*(max(0.0, high - value) for _, high in ends))
    return Estimate(value, value - below, value + above, len(seeds), n_examples, spread)


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Student's interval of the mean, n - 1 degrees of freedom; None for fewer than two values.

    >>> t_interval([1.0, 2.0, 3.0])  # 2 -+ 4.3027 / sqrt(3)
    (-0.484137..., 4.484137...)
    """
    if len(values) < 2:
        return None
    mean, n = float(np.mean(values)), len(values)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean - half, mean + half


def percentile_interval(draws: np.ndarray | None, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """The percentiles of the draws that have a value; None where none has."""
    known = draws[np.isfinite(draws)] if draws is not None else np.empty(0)
    if not known.size:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def _spread(has_seeds: bool, has_draws: bool) -> Spread:
    if has_seeds and has_draws:
        return "seeds and examples"
    return "seeds" if has_seeds else "examples" if has_draws else "none"
