"""The models of one column against its best: compared where encoder, precision and data are equal, on common seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from hashbench.results.read.doubts import NOT_JUMPED
from hashbench.results.read.evidence import Evidence, Matched, Sample, ScorePart, draw_together
from hashbench.scores import best
from hashbench.scores.base import is_drawable
from hashbench.scores.quantity import Quantity, Uncertain, difference, unmatched

IN_GROUP, BELOW = "best", "below"  # the states of compared models
FEW_SEEDS, FEW_UNITS = "fewer than two seeds", "fewer than two pre-trainings"
TWO_UNITS = "two units: no group"
LEAST_SEEDS = 2


@dataclass(frozen=True)
class Rating:
    """The rating of a model in a column: in the group of the best, below it, or not compared, which `why` explains."""

    state: str = ""
    why: str = ""
    rank: int = 0  # among the compared models, 1 is the best
    ranks: tuple[int, int] = (0, 0)  # its 95 % interval, which holds for all models at once


@dataclass(frozen=True)
class Compared:
    """A column's models compared with each other: `places` of comparable ones, `whys` the others are not.

    `why` nothing is compared; else ''. `pairing`: the difference of two of the `places`, which are compared by
    themselves, whatever else is in the column; the group of the best and the ranks hold for all of its comparisons.
    """

    whys: tuple[str, ...]
    places: tuple[int, ...] = ()
    numbers: tuple[Quantity, ...] = ()  # of the places, each on all of its seeds
    pairing: best.Differences | None = None
    why: str = ""

    @property
    def values(self) -> list[float]:
        """The number of each of the `places`."""
        return [number.value for number in self.numbers]

    def difference(self, first: int, second: int) -> Uncertain:
        """The difference of two models, indexes of `places`."""
        assert self.pairing is not None
        if (first, second) not in self._differences:
            self._differences[first, second] = self.pairing(first, second)
        return self._differences[first, second]

    @cached_property
    def _differences(self) -> dict[tuple[int, int], Uncertain]:
        return {}

    def differences(self) -> tuple[np.ndarray, np.ndarray]:
        """(differences, first - second; half the widths of their intervals), each (models, models).

        Each is computed on the seeds that both have, so it need not be a difference of `values`.
        """
        n = len(self.places)
        values, halves = np.zeros((n, n)), np.zeros((n, n))
        for i, j in combinations(range(n), 2):
            of_pair = self.difference(i, j)
            values[i, j], values[j, i] = of_pair.value, -of_pair.value
            halves[i, j] = halves[j, i] = of_pair.half_width()
        return values, halves

    @property
    def grouped(self) -> bool:
        """True where each model has the units that a group of the best needs."""
        return min((n for number in self.numbers for n in number.units), default=0) >= best.LEAST_UNITS

    @cached_property
    def ratings(self) -> tuple[Rating, ...]:
        """The rating of each model, in the column's order."""
        rated = [Rating(why=why) for why in self.whys]
        if self.why:
            return tuple(rated)
        members = best.group(self.values, self.difference) if self.grouped else None
        intervals = best.ranks(self.values, self.difference)
        for at, place in enumerate(self.places):
            rank = 1 + sum(value > self.values[at] for value in self.values)
            state = "" if members is None else IN_GROUP if members[at] else BELOW
            rated[place] = Rating(state, rank=rank, ranks=intervals[at])
        return tuple(rated)


def compared(sums: Sequence[Sequence[ScorePart]], groups: Sequence[str], evidence: Evidence) -> Compared:
    """A column's models compared, each with a weighted sum of scores and its group of encoder, precision and data.

    Of several groups the most frequent one is compared, on the examples that all of its models have. A model with a
    pre-training that did not jump is not compared.
    """
    samples = [[evidence.of_part(part) for part in parts] for parts in sums]
    models = [parts[0].entry.model if parts else "" for parts in sums]
    behind = evidence.measured.left_behind
    unlike = [NOT_JUMPED if model in behind else why for model, why in zip(models, _unlike(groups), strict=True)]
    whys = [why or _lacks(of) for why, of in zip(unlike, samples, strict=True)]
    whys = _unlike_examples(samples, whys)
    places = [place for place, why in enumerate(whys) if not why]
    draw_together([sample for place in places for sample in samples[place]])
    weighted = {
        place: list(zip((part.weight for part in sums[place]), samples[place], strict=True)) for place in places
    }
    read: dict[tuple[int, Matched], Quantity] = {}

    def pairing(first: int, second: int) -> Uncertain:
        both = places[first], places[second]
        of_both = [sample for place in both for sample in samples[place]]
        matched = Matched.of(of_both)
        if matched.lacking(of_both):
            return unmatched(*(number_of(place, Matched.of(samples[place])) for place in both))
        return difference(*(number_of(place, matched.only(samples[place])) for place in both))

    def number_of(place: int, matched: Matched) -> Quantity:
        if (place, matched) not in read:
            read[place, matched] = matched.sum(weighted[place])
        return read[place, matched]

    return rated(whys, places, [number_of(place, Matched.of(samples[place])) for place in places], pairing)


def rated(
    whys: Sequence[str], places: Sequence[int], numbers: Sequence[Quantity], pairing: best.Differences
) -> Compared:
    """The comparison of a column's models at `places`; none where there are fewer than two."""
    if len(places) < 2:
        reasons = Counter(filter(None, whys)).most_common(1)
        return Compared(tuple(whys), why=reasons[0][0] if reasons else "one model")
    return Compared(tuple(whys), tuple(places), tuple(numbers), pairing)


def _lacks(samples: Sequence[Sample]) -> str:
    """The reason that a model cannot be compared by itself, or ''."""
    matched = Matched.of(samples)
    if any(len(matched.seeds[sample.task]) < LEAST_SEEDS for sample in samples):
        return FEW_SEEDS
    if any(len(units) < LEAST_SEEDS for units in matched.units.values()):
        return FEW_UNITS
    for sample in samples:
        if not is_drawable(sample.metric):
            return f"{sample.metric} has no draws"
        lack, _ = sample.lack(matched.seeds[sample.task])
        if lack:
            return lack
    return ""


def _unlike(groups: Sequence[str]) -> list[str]:
    """For each group (encoder, precision, data; of several tasks with | between) its difference from most, or ''.

    >>> _unlike(["tiny 32 f0", "tiny bf16 f0", "tiny 32 f0"])
    ['', 'precision bf16, most have 32', '']
    """
    common = Counter(groups).most_common(1)[0][0]
    return ["" if group == common else _difference(group, common) for group in groups]


def _difference(group: str, common: str) -> str:
    own, of_most = ([part.rsplit(" ", 2) for part in text.split("|")] for text in (group, common))
    for at, name in ((1, "precision"), (0, "encoder")):
        values = [" and ".join(sorted({part[at] for part in parts if len(part) == 3})) for parts in (own, of_most)]
        if values[0] != values[1]:
            return f"{name} {values[0]}, most have {values[1]}"
    same_data = {part[-1] for part in own} == {part[-1] for part in of_most}
    return "other precisions in single tasks" if same_data else "other data"


def _unlike_examples(samples: Sequence[Sequence[Sample]], whys: Sequence[str]) -> list[str]:
    """The reasons, completed for models that were measured on other examples than most."""
    prints = [tuple(sample.fingerprint for sample in of_model) for of_model in samples]
    counts = Counter(of_model for of_model, why in zip(prints, whys, strict=True) if not why)
    common = counts.most_common(1)[0][0] if counts else ()
    return [why or ("" if of_model == common else "other examples") for of_model, why in zip(prints, whys, strict=True)]
