"""A value with its interval; intervals of a median and of draws. `quantity.py` makes those of models' scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

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
