"""Verdicts on a claim and on its parts, and the rule of claims.md that gives them from a point or an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hashbench.results.claims.grammar import Claim, ClaimKind

Outcome = Literal["holds", "fails", "undecided", "not measured"]
Because = Literal["", "one seed", "nothing learned"]
Worth = Literal["", "yes", "no"]  # "": not known
About = Literal["scores", "counts", "times"]  # counts: parameters, bytes, operations, which nothing varies
OUTCOMES: tuple[Outcome, ...] = ("holds", "fails", "undecided", "not measured")
BECAUSE: tuple[Because, ...] = ("nothing learned", "one seed")
ABOUT: tuple[About, ...] = ("scores", "counts", "times")
NOTHING_LEARNED = "nothing learned"  # begins the marks of comparisons whose models are not above a constant
NOT_ABOVE = "not above "  # begins those of comparisons whose models are not above the trivial baselines
QUOTED = "[quoted] as the paper prints it: "
# Decimals of a unit in which printed numbers are compared: 75.3 - 79.5 is not -4.2 in binary.
DIGITS = 9
MODEL, NOT_HERE = "model ", ": not in this experiment"  # around the name of a model that an experiment lacks


def of_interval(kind: ClaimKind, low: float, high: float, *, bound: float) -> Outcome:
    """The verdict on a claim whose difference or ratio of left to right side lies in [low, high].

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


def margin(kind: ClaimKind, value: float, *, bound: float) -> float:
    """How far a difference or ratio lies from where the claim's verdict changes.

    >>> margin("greater", -2.0, bound=0), margin("equal_within", 0.25, bound=0.5), margin("ratio_at_least", 3, bound=2)
    (2.0, 0.25, 1)
    """
    if kind in ("greater", "interaction"):
        return abs(value)
    return abs(abs(value) - bound) if kind in ("equal_within", "count") else abs(value - bound)


def of_point(kind: ClaimKind, quantity: float, bound: float) -> Outcome:
    """The verdict on an exact number: a count, a share, or a printed point.

    >>> of_point("difference_at_least", 75.3 - 79.5, -4.2)
    'holds'
    """
    exact = round(quantity, DIGITS)
    return of_interval(kind, exact, exact, bound=bound)


def all_of(parts: Sequence[Outcome]) -> Outcome:
    """The verdict on a claim: not measured if a part is not, holds if all hold, fails if one fails, else undecided.

    >>> all_of(["holds", "undecided", "fails"]), all_of(["holds", "undecided"]), all_of(["fails", "not measured"])
    ('fails', 'undecided', 'not measured')
    """
    order: tuple[Outcome, ...] = ("not measured", "fails", "undecided")
    return next((outcome for outcome in order if outcome in parts), "holds")


def comes_free(kind: ClaimKind, bound: float) -> bool:
    """True if two equal (say, untrained) models would fulfil the claim. Both must then beat the trivial baselines.

    >>> comes_free("equal_within", 0.5), comes_free("difference_at_least", -0.4), comes_free("ratio_at_least", 0.97)
    (True, True, True)
    >>> comes_free("greater", 0), comes_free("difference_at_least", 11.8)
    (False, False)
    """
    if kind == "equal_within":
        return True
    return kind == "difference_at_least" and bound <= 0 or kind == "ratio_at_least" and bound <= 1


def absent_model(model: str) -> str:
    """The reason for "not measured" that names a model which the experiment does not have."""
    return f"{MODEL}{model}{NOT_HERE}"


def is_absent_model(why: str) -> bool:
    """True for a reason that `absent_model` gives."""
    return why.startswith(MODEL) and why.endswith(NOT_HERE)


@dataclass(frozen=True)
class Decision:
    """The verdict on one part. `value`: left - right in the claim's unit, left / right of a ratio, left of a count."""

    outcome: Outcome
    part: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    # The units of the model with the fewest: pre-trainings, where several fine-tunings share one, or seeds
    seeds: tuple[int | str, ...] = ()
    n_trainings: int = 0  # seeds of fine-tunings behind them
    n_examples: int = 0
    tasks: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # how the verdict is to be read
    missing: tuple[str, ...] = ()  # why there is none
    timed: bool = False  # `seeds` are then repeated runs
    because: Because = ""  # of a verdict on scores that only examples support, or that is none
    about: About = "scores"
    chance: float | None = None  # the p-value of the verdict by an interval
    above_trivial: Worth = ""  # whether the sides that must have learned are above the best trivial baseline

    @property
    def exact(self) -> bool:
        """True if the verdict compares exact numbers, which have no interval."""
        return self.value is not None and self.low is None and self.outcome in ("holds", "fails")


@dataclass(frozen=True)
class Decided:
    """A claim with the verdicts on its parts."""

    claim: Claim
    parts: tuple[Decision, ...]
    # It names models, none of which the experiment has: shown where a whole paper is requested, not counted.
    of_other_models: bool = False
    # Whether the verdict stays with Holm's correction for all claims of its section; None: it rests on no interval
    corrected: bool | None = None

    @cached_property
    def outcome(self) -> Outcome:
        """The verdict: 'not measured' if a part is not, 'holds' if all hold, 'fails' if one fails, else 'undecided'."""
        return all_of([part.outcome for part in self.parts])

    @cached_property
    def shown(self) -> Decision:
        """The part whose numbers are printed: of those with the claim's verdict and reason, the nearest to failing."""
        same = [part for part in self.parts if (part.outcome, part.because) == (self.outcome, self.because)]
        return min(same, key=self._margin)

    def _margin(self, part: Decision) -> float:
        if part.value is None:
            return math.inf
        return -abs(part.value) if self.claim.kind == "equal_within" else part.value

    @cached_property
    def because(self) -> Because:
        """The reason for the verdict: the first in BECAUSE that a part with this verdict has; '' if none has one."""
        reasons = {part.because for part in self.parts if part.outcome == self.outcome}
        return next((reason for reason in BECAUSE if reason in reasons), "")

    @property
    def chance(self) -> float | None:
        """The p-value of the verdict: all parts of one that holds are at most as likely; None without an interval."""
        chances = [part.chance for part in self.parts if part.chance is not None]
        if not chances:
            return None
        if self.outcome == "fails":
            failing = [part.chance for part in self.parts if part.outcome == "fails" and part.chance is not None]
            return min(1.0, len(self.parts) * min(failing, default=0.0))
        return max(chances) if self.outcome == "holds" else 1.0

    @cached_property
    def about(self) -> About:
        """The kind of number that the claim compares: scores if any part compares scores, then counts, then times."""
        return next(about for about in ABOUT if about in {part.about for part in self.parts})

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Remarks on the verdict from all parts; those on what was not beaten come only from the part `shown`."""
        others = [part for part in self.parts if part is not self.shown]
        marks = dict.fromkeys(self.shown.marks)
        marks |= dict.fromkeys(
            mark for part in others for mark in part.marks if not mark.startswith((NOTHING_LEARNED, NOT_ABOVE))
        )
        quoted = [mark.removeprefix(QUOTED) for mark in marks if mark.startswith(QUOTED)]
        together = (QUOTED + ", ".join(quoted),) if quoted else ()
        return tuple(mark for mark in marks if not mark.startswith(QUOTED)) + together

    @property
    def missing(self) -> tuple[str, ...]:
        """The numbers that any part lacks."""
        return tuple(dict.fromkeys(why for part in self.parts for why in part.missing))

    @property
    def names_absent_model(self) -> bool:
        """True if all its models are absent from the experiment, or if it is not measured because one is absent."""
        if self.of_other_models:
            return True
        whys = (why for part in self.parts if part.outcome == self.outcome for why in part.missing)
        return self.outcome == "not measured" and any(map(is_absent_model, whys))

    @property
    def seeds(self) -> tuple[int | str, ...]:
        """The seeds behind the part `shown`."""
        return self.shown.seeds
