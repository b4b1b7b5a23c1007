"""The rule of decision of claims.md: what a point, or an interval, says of a claim's bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from hashbench.results.claims.grammar import ClaimKind

Outcome = Literal["holds", "fails", "undecided", "not measured"]
OUTCOMES: tuple[Outcome, ...] = ("holds", "fails", "undecided", "not measured")
# Decimals of a unit in which printed numbers are compared: 75.3 - 79.5 is not -4.2 in binary.
DIGITS = 9
MODEL, NOT_HERE = "model ", ": not in this experiment"  # around the name of a model that an experiment lacks


def of_interval(kind: ClaimKind, low: float, high: float, *, bound: float) -> Outcome:
    """The verdict on a claim whose quantity lies in [low, high]: L - R in the claim's unit, L / R of a ratio.

    >>> [of_interval("greater", low, high, bound=0) for low, high in ((0.1, 2.0), (-1.0, 0.0), (-1.0, 2.0))]
    ['holds', 'fails', 'undecided']
    >>> [of_interval("equal_within", low, high, bound=0.5) for low, high in ((-0.3, 0.2), (0.6, 0.9))]
    ['holds', 'fails']
    """
    if math.isnan(low) or math.isnan(high):
        return "undecided"
    if kind in ("greater", "interaction"):
        return "holds" if low > 0 else "fails" if high <= 0 else "undecided"
    if kind in ("equal_within", "count"):
        if -bound <= low and high <= bound:
            return "holds"
        return "fails" if low > bound or high < -bound else "undecided"
    return "holds" if low >= bound else "fails" if high < bound else "undecided"


def of_point(kind: ClaimKind, quantity: float, bound: float) -> Outcome:
    """The verdict on an exact number: a count, a share, or a printed point.

    >>> of_point("difference_at_least", 75.3 - 79.5, -4.2)
    'holds'
    """
    exact = round(quantity, DIGITS)
    return of_interval(kind, exact, exact, bound=bound)


def all_of(parts: Sequence[Outcome]) -> Outcome:
    """The verdict on a claim of every part: all hold, one fails, or undecided. One that is not measured: not measured.

    >>> all_of(["holds", "undecided", "fails"]), all_of(["holds", "undecided"]), all_of(["fails", "not measured"])
    ('fails', 'undecided', 'not measured')
    """
    order: tuple[Outcome, ...] = ("not measured", "fails", "undecided")
    return next((outcome for outcome in order if outcome in parts), "holds")


def comes_free(kind: ClaimKind, bound: float) -> bool:
    """Whether two equal (say, untrained) models would fulfil the claim. Then both must beat the trivial baseline first.

    >>> comes_free("equal_within", 0.5), comes_free("difference_at_least", -0.4), comes_free("ratio_at_least", 0.97)
    (True, True, True)
    >>> comes_free("greater", 0), comes_free("difference_at_least", 11.8)
    (False, False)
    """
    if kind == "equal_within":
        return True
    return kind == "difference_at_least" and bound <= 0 or kind == "ratio_at_least" and bound <= 1


def absent_model(model: str) -> str:
    """The reason that a claim is not measured for want of a model."""
    return f"{MODEL}{model}{NOT_HERE}"


def is_absent_model(why: str) -> bool:
    """Whether a reason is one of `absent_model`."""
    return why.startswith(MODEL) and why.endswith(NOT_HERE)
