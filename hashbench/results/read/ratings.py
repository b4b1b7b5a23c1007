"""The models of one column against its best: compared where encoder, precision and data are equal, on common seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hashbench.results.read.jumps import NOT_JUMPED, left_behind
from hashbench.results.read.samples import Evidence, RunSeed, Sample, ScorePart, draw_together
from hashbench.scores.best import LEAST_SEEDS, Separation
from hashbench.scores.estimates import over_units
from hashbench.scores.registry import is_drawable

IN_GROUP, BELOW = "best", "below"  # the states of compared models
FEW_SEEDS = "fewer than two seeds"
NO_PREDICTIONS = "no stored predictions"
SeedValues = tuple[Mapping[Any, float], Mapping[Any, np.ndarray]]  # by seed, and by seed in each draw (draws,)


@dataclass(frozen=True)
class Rating:
    """The rating of a model in a column: in the group of the best, below it, or not compared, which `why` explains."""

    state: str = ""
    why: str = ""
    rank: int = 0  # among the compared models, 1 is the best
    ranks: tuple[int, int] = (0, 0)  # its 95 % interval, which holds for all models at once


@dataclass(frozen=True)
class Compared:
    """A column's models compared with each other: `places` are those that can be, `whys` of the others why not.

    `why` nothing is compared; else '', and `separation` has the models of `places`.
    """

    whys: tuple[str, ...]
    places: tuple[int, ...] = ()
    separation: Separation | None = None
    why: str = ""

    @cached_property
    def ratings(self) -> tuple[Rating, ...]:
        """The rating of each model, in the column's order."""
        if self.separation is None:
            return tuple(Rating() for _ in self.whys)
        group, (first, last) = self.separation.group(), self.separation.ranks()
        means = self.separation.by_seed.mean(axis=1)
        rated = [Rating(why=why) for why in self.whys]
        for at, place in enumerate(self.places):
            rank, state = 1 + int((means > means[at]).sum()), IN_GROUP if group[at] else BELOW
            rated[place] = Rating(state, rank=rank, ranks=(int(first[at]), int(last[at])))
        return tuple(rated)


def compared(sums: Sequence[Sequence[ScorePart]], groups: Sequence[str], evidence: Evidence) -> Compared:
    """A column's models compared, each with a weighted sum of scores and its group of encoder, precision and data.

    Of several groups the most frequent one is compared, on the seeds and examples that all of its models have. A model
    with a pre-training that did not jump is not, where others did.
    """
    samples = [[evidence.of_part(part) for part in parts] for parts in sums]
    seeds = [_seeds(of_model) for of_model in samples]
    models = [parts[0].entry.model if parts else "" for parts in sums]
    behind = left_behind(models, evidence.measured.separations)
    unlike = [NOT_JUMPED if model in behind else why for model, why in zip(models, _unlike(groups), strict=True)]
    whys = [why or _lacks(of, its) for why, of, its in zip(unlike, samples, seeds, strict=True)]
    whys = _unlike_examples(samples, whys)
    places = [place for place, why in enumerate(whys) if not why]
    draw_together([sample for place in places for sample in samples[place]])
    values: dict[int, SeedValues] = {}
    for place in places:
        parts = list(zip((part.weight for part in sums[place]), samples[place], strict=True))
        by_seed = {seed: sum(weight * sample.by_seed()[seed] for weight, sample in parts) for seed in seeds[place]}
        draws = np.sum([weight * sample.by_seed_and_draw(seeds[place]) for weight, sample in parts], axis=0)
        values[place] = by_seed, dict(zip(seeds[place], draws, strict=True))
    tasks = {sample.task for of_model in samples for sample in of_model}
    kinds = {place: evidence.measured.kind_of(sums[place][0].entry) for place in values}
    return separated(whys, values, lambda common: evidence.measured.units(common, tasks), kinds)


def separated(
    whys: Sequence[str],
    values: Mapping[int, SeedValues],
    units_of: Callable[[Sequence[RunSeed]], list[RunSeed]],
    kinds: Mapping[int, Hashable],
) -> Compared:
    """The models compared that have `values`, by index of the model, on the seeds that all of them have.

    `whys`: of every model the reason that it has none, or ''. `units_of`: of each seed the number of what was drawn
    independently, since fine-tunings of one pre-training are one value. `kinds`: the key of those
    whose variances are taken together, by index of the model.
    """
    if len(values) < 2:
        reasons = Counter(filter(None, whys)).most_common(1)
        return Compared(tuple(whys), why=reasons[0][0] if reasons else "one model")
    first, *others = [by_seed for by_seed, _ in values.values()]
    common = [seed for seed in first if all(seed in by_seed for by_seed in others)]
    if len(common) < LEAST_SEEDS:
        return Compared(tuple(whys), why="no two seeds that all models have")
    scores = np.array([[by_seed[seed] for seed in common] for by_seed, _ in values.values()])
    draws = np.array([[by_draw[seed] for seed in common] for _, by_draw in values.values()])
    units = units_of(common)
    if len(set(units)) < LEAST_SEEDS:
        return Compared(tuple(whys), why="no two pre-trainings that all models have")
    scores, draws = (over_units(of.swapaxes(0, 1), units).swapaxes(0, 1) for of in (scores, draws))
    of_each = [kinds[place] for place in values]
    return Compared(tuple(whys), tuple(values), Separation(scores, draws, kinds=of_each))


def _seeds(samples: Sequence[Sample]) -> list[RunSeed]:
    """The seeds of which every sample has a score."""
    by_sample = [sample.by_seed() for sample in samples]
    return [seed for seed in by_sample[0] if all(seed in of_one for of_one in by_sample)]


def _lacks(samples: Sequence[Sample], seeds: Sequence[RunSeed]) -> str:
    """The reason that a model cannot be compared by itself, or ''."""
    if len(seeds) < LEAST_SEEDS:
        return FEW_SEEDS
    for sample in samples:
        if not is_drawable(sample.metric):
            return f"{sample.metric} has no draws"
        if sample.missing(seeds):
            return NO_PREDICTIONS
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
