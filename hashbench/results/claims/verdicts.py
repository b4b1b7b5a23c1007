"""What a verdict is: of a part of a claim, and of the claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hashbench.results.claims.grammar import Claim
from hashbench.results.claims.learned import AT_BASELINE
from hashbench.results.claims.rule import Outcome, all_of, is_absent_model

QUOTED = "[quoted] as the paper prints it: "
Because = Literal["", "one seed", "at the baseline"]
About = Literal["scores", "counts", "times"]  # counts: parameters, bytes, operations, which nothing varies
BECAUSE: tuple[Because, ...] = ("at the baseline", "one seed")
ABOUT: tuple[About, ...] = ("scores", "counts", "times")


@dataclass(frozen=True)
class Decision:
    """The verdict on one part. `value` is L - R in the claim's unit, L / R of a ratio, L of a count."""

    outcome: Outcome
    part: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: tuple[int, ...] = ()
    n_examples: int = 0
    tasks: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # how the verdict is to be read
    missing: tuple[str, ...] = ()  # why there is none
    timed: bool = False  # `seeds` are then repeated runs
    because: Because = ""  # of a verdict on scores that nothing but examples stands behind, or that is none
    about: About = "scores"

    @property
    def exact(self) -> bool:
        """Whether it compares numbers that nothing varies."""
        return self.value is not None and self.low is None and self.outcome in ("holds", "fails")


@dataclass(frozen=True)
class Decided:
    """A claim with the verdicts on its parts."""

    claim: Claim
    parts: tuple[Decision, ...]
    # Whether it names models, none of which the experiment has: shown where a whole paper is asked for, not counted
    of_other_models: bool = False

    @property
    def outcome(self) -> Outcome:
        """All hold, one fails, else undecided; one that is not measured: not measured."""
        return all_of([part.outcome for part in self.parts])

    @property
    def shown(self) -> Decision:
        """The part that the verdict hangs on: of those with the verdict, the nearest to failing."""
        alike = [part for part in self.parts if (part.outcome, part.because) == (self.outcome, self.because)]
        return min(alike, key=self._margin)

    def _margin(self, part: Decision) -> float:
        if part.value is None:
            return math.inf
        return -abs(part.value) if self.claim.kind == "equal_within" else part.value

    @property
    def because(self) -> Because:
        """What the verdict is for want of: of a claim of several parts, what holds of one with its verdict."""
        reasons = {part.because for part in self.parts if part.outcome == self.outcome}
        return next((reason for reason in BECAUSE if reason in reasons), "")

    @property
    def about(self) -> About:
        """What it compares; scores where any part does."""
        return next(about for about in ABOUT if about in {part.about for part in self.parts})

    @property
    def marks(self) -> tuple[str, ...]:
        """How the verdict is to be read, of all parts; of baselines that are not beaten that of the part shown."""
        others = [part for part in self.parts if part is not self.shown]
        marks = dict.fromkeys(self.shown.marks)
        marks |= dict.fromkeys(mark for part in others for mark in part.marks if not mark.startswith(AT_BASELINE))
        quoted = [mark.removeprefix(QUOTED) for mark in marks if mark.startswith(QUOTED)]
        together = (QUOTED + ", ".join(quoted),) if quoted else ()
        return tuple(mark for mark in marks if not mark.startswith(QUOTED)) + together

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing, of all parts."""
        return tuple(dict.fromkeys(why for part in self.parts for why in part.missing))

    @property
    def names_absent_model(self) -> bool:
        """Whether it speaks only of models that the experiment does not have, or is not measured since it names one:
        no verdict of its."""
        if self.of_other_models:
            return True
        whys = (why for part in self.parts if part.outcome == self.outcome for why in part.missing)
        return self.outcome == "not measured" and any(map(is_absent_model, whys))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the part that is shown."""
        return self.shown.seeds
