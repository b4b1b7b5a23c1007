"""Verdicts on a claim and on its parts, and the rule of claims.md that gives them from a point or an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hashbench.results.claims.claim import Claim, Outcome

Because = Literal["", "one seed", "nothing learned"]
Worth = Literal["", "yes", "no"]  # "": not known
About = Literal["scores", "counts", "times"]  # counts: parameters, bytes, operations, which nothing varies
OUTCOMES: tuple[Outcome, ...] = ("holds", "fails", "undecided", "not measured")
BECAUSE: tuple[Because, ...] = ("nothing learned", "one seed")
ABOUT: tuple[About, ...] = ("scores", "counts", "times")
NOTHING_LEARNED = "nothing learned"  # begins the marks of comparisons whose models are not above a constant
NOT_ABOVE = "not above "  # begins the reason where compared models are not above the trivial baselines
QUOTED = "[quoted] as the paper prints it: "
MODEL, NOT_HERE = "model ", ": not in this experiment"  # around the name of a model that an experiment lacks


def all_of(parts: Sequence[Outcome]) -> Outcome:
    """The verdict on a claim: not measured if a part is not, holds if all hold, fails if one fails, else undecided.

    >>> all_of(["holds", "undecided", "fails"]), all_of(["holds", "undecided"]), all_of(["fails", "not measured"])
    ('fails', 'undecided', 'not measured')
    """
    order: tuple[Outcome, ...] = ("not measured", "fails", "undecided")
    return next((outcome for outcome in order if outcome in parts), "holds")


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
    # The experiment has none of its models: shown where a whole paper is requested, not counted.
    of_other_models: bool = False
    # Whether the verdict stays with Holm's correction for all claims of its section; None: it rests on no interval
    corrected: bool | None = None

    @cached_property
    def outcome(self) -> Outcome:
        """The verdict: 'not measured' if a part is not, 'holds' if all hold, 'fails' if one fails, else 'undecided'."""
        return all_of([part.outcome for part in self.parts])

    @cached_property
    def shown(self) -> Decision:
        """The part whose numbers are printed: the nearest to failing with the claim's verdict and reason."""
        same = [part for part in self.parts if (part.outcome, part.because) == (self.outcome, self.because)]
        return min(same, key=self._margin)

    def _margin(self, part: Decision) -> float:
        return math.inf if part.value is None else self.claim.kind.room(part.value)

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
