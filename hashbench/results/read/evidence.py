"""The evidence for a score: its value by seed and, from stored predictions, by bootstrap draw of examples.

Reads the store once for each run. Draws of one task are the same for all models, in every call: what is subtracted
draw by draw is paired.
"""

from __future__ import annotations

import statistics
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hashbench.common.errors import InputError
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry, MeasuredRun, SeedScore, grouped
from hashbench.scores.base import is_drawable, metric_of
from hashbench.scores.draws import DRAWS, Scored, drawn_together, percentile_interval, undefined_share
from hashbench.scores.quantity import Quantity, Unit, apply
from hashbench.store.engine import Store
from hashbench.store.result import Predictions

Statistic = Literal["mean", "median"]  # over seeds
NO_SCORE, NO_PREDICTIONS = "no score", "no stored predictions"
UNREADABLE, OTHER_EXAMPLES = "outputs that cannot be read", "seeds on different examples"
RunSeed = int | None  # None: a trivial baseline, in which nothing is random


@dataclass(frozen=True)
class ScorePart:
    """One of the scores that a number is a weighted sum of: a metric of an entry's runs on a split of a task."""

    weight: float
    entry: Entry
    task: str
    metric: str
    split: str


class Evidence:
    """The scores of an experiment with their stored predictions and bootstrap draws, each read or computed once.

    Examples are in the order of an export, so that merged runs and others in one database compare, and a number is the
    same in a database and in its export.
    """

    def __init__(self, store: Store, measured: Measured, *, draws: int = DRAWS) -> None:
        self.store = store
        self.measured = measured
        self.draws = draws
        self._samples: dict[tuple[int, str, str, str], Sample] = {}
        self._stored: dict[tuple[tuple[str, ...], str], dict[str, Predictions]] = {}  # by run ids and split
        self._drawn: dict[tuple[str, str, str], np.ndarray] = {}

    def of(self, entry: Entry, task: str, metric: str, split: str) -> Sample:
        """The sample of one model, task, metric and split; repeated calls return one object."""
        key = (id(entry), task, metric, split)
        if key not in self._samples:
            scores = self.measured.read(entry, task, metric, split)
            by_seed = {score.run.seed: score for score in scores}
            self._samples[key] = Sample(self, entry, task, metric, split, by_seed)
        return self._samples[key]

    def of_part(self, part: ScorePart) -> Sample:
        """The sample of a part of a sum."""
        return self.of(part.entry, part.task, part.metric, part.split)

    def own(self, entry: Entry, task: str) -> Sample | None:
        """The sample of the metric and split that the experiment reports for the task; None where it has no score."""
        scores = self.measured.own(entry, task)
        return self.of(entry, task, scores[0].metric, scores[0].split) if scores else None

    def interval(self, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> tuple[float, float, int] | None:
        """(low, high, number of examples) of the 95 % interval over examples, of a text task's score or of an average.

        `by_task`: one metric of one task each. It says nothing about other seeds: these share their draws. None where
        predictions are missing.
        """
        draws = self._mean_by_draw(entry, by_task)
        ends = percentile_interval(draws)
        return None if ends is None else (*ends, sum(sample.n for sample in self._samples_of(entry, by_task)))

    def undefined(self, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> float:
        """The share of the draws without a value, which `interval` leaves out."""
        return undefined_share(self._mean_by_draw(entry, by_task))

    def _samples_of(self, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> list[Sample]:
        return [self.of(entry, scores[0].run.task or "", scores[0].metric, scores[0].split) for scores in by_task]

    def _mean_by_draw(self, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> np.ndarray | None:
        """The mean over tasks in each draw (draws,), NaN where a task has no value; None without predictions."""
        samples = self._samples_of(entry, by_task)
        if not samples or not all(map(_has_interval, samples)):
            return None
        seeds = [[None if of.is_fixed else score.run.seed for score in scores if score.value is not None]
                 for of, scores in zip(samples, by_task, strict=True)]  # fmt: skip
        draws = [sample.by_draw(of_task) for sample, of_task in zip(samples, seeds, strict=True)]
        mean: np.ndarray = np.sum(draws, axis=0) / len(samples)
        return mean

    def draw(self, samples: Iterable[Sample]) -> None:
        """Computes, all at once, the draws of the samples that have an interval."""
        draw_together([sample for sample in samples if _has_interval(sample)])

    def stored(self, sample: Sample) -> dict[RunSeed, Predictions]:
        """The stored predictions of the sample's runs that have a score and kept them, by seed."""
        runs = {seed: sample.scores[seed].run.run_id for seed in sample.by_seed()}
        key = (tuple(runs.values()), sample.split)  # several metrics of a task read the same predictions
        if key not in self._stored:
            by_run = self.measured.predictions(list(runs.values()), sample.split)
            self._stored[key] = {run_id: of.in_order_of_targets() for run_id, of in by_run.items() if of is not None}
        return {seed: self._stored[key][run_id] for seed, run_id in runs.items() if run_id in self._stored[key]}

    def drawn(self, sample: Sample) -> dict[RunSeed, np.ndarray]:
        """The metric in each bootstrap draw of the sample's examples (draws,), by seed."""
        draw_together([sample])
        return {seed: self._drawn[self._key(sample, seed)] for seed in sample.stored}

    def constant(self, sample: Sample) -> Quantity | None:
        """The score of the best constant prediction of a sample's examples; None where it does not follow from them."""
        metric, answer = metric_of(sample.metric), None if sample.missing() else _best_constant(sample)
        if metric is not None and metric.of_constant is not None:
            return Quantity(metric.of_constant)
        if metric is None or answer is None:
            return None
        key = self._constant_key(sample)
        if key not in self._drawn:
            part = Scored(sample.metric, sample.targets, [answer], sample.units)
            self._drawn[key] = drawn_together([part], draws=self.draws, seed=draw_seed(sample.task))[0][0]
        return Quantity(metric.score(sample.targets, answer), self._drawn[key], {sample.task: sample.n})

    def _constant_key(self, sample: Sample) -> tuple[str, str, str]:
        return (f"constant {sample.task} {sample.fingerprint}", sample.split, sample.metric)

    def _key(self, sample: Sample, seed: RunSeed) -> tuple[str, str, str]:
        return (sample.scores[seed].run.run_id, sample.split, sample.metric)


@dataclass(frozen=True)
class Sample:
    """The scores and predictions of one model on one task by one metric, seed by seed."""

    evidence: Evidence
    entry: Entry
    task: str
    metric: str
    split: str
    scores: dict[RunSeed, SeedScore]  # of the finished runs; one without a seed under None

    @property
    def is_fixed(self) -> bool:
        """True where nothing is random: for a trivial baseline, and for predictions of another program."""
        return None in self.scores

    def by_seed(self) -> dict[RunSeed, float]:
        """The stored score of every seed that has one, in its natural range."""
        return {seed: score.value for seed, score in self.scores.items() if score.value is not None}

    def by_draw(self, seeds: Sequence[RunSeed] | None = None) -> np.ndarray:
        """The metric in each bootstrap draw, averaged over `seeds` (None: all that have a score): (draws,).

        Raises InputError where predictions are missing.
        """
        return self.by_seed_and_draw(seeds).mean(axis=0)

    def by_seed_and_draw(self, seeds: Sequence[RunSeed] | None = None) -> np.ndarray:
        """The metric of each seed in each draw, all seeds on the same examples: (seeds, draws). Raises as `by_draw`."""
        wanted = list(self.by_seed()) if seeds is None else list(seeds)
        if why := self.missing(wanted):
            raise InputError(why)
        by_seed = self.evidence.drawn(self)
        return np.stack([by_seed[seed] for seed in wanted])

    def missing(self, seeds: Sequence[RunSeed] | None = None) -> str:
        """The reason that the sample cannot be resampled, or ''."""
        name = f"{self.evidence.store.name}: {self.entry.model} on {self.task}"
        lack, absent = self.lack(seeds)
        if lack == NO_SCORE:
            return f"{name}: no score of {self.metric} on {self.split}"
        if absent is not None and lack == UNREADABLE:
            why = self.evidence.measured.without_outputs(absent)
            return f"{name}: run {absent.run_id[:12]}: its outputs cannot be read ({why})"
        if lack == NO_PREDICTIONS:
            return f"{name}: no stored predictions on {self.split}; read the sweep's own database"
        return f"{name}: its seeds were measured on different examples" if lack else ""

    def lack(self, seeds: Sequence[RunSeed] | None = None) -> tuple[str, MeasuredRun | None]:
        """That reason in a few words, or '', and the run without predictions, if there is one."""
        wanted = list(self.by_seed()) if seeds is None else list(seeds)
        if not wanted:
            return NO_SCORE, None
        if absent := next((self.scores[seed].run for seed in wanted if seed not in self.stored), None):
            return UNREADABLE if self.evidence.measured.without_outputs(absent) else NO_PREDICTIONS, absent
        differ = len({self.stored[seed].index_fingerprint for seed in wanted}) > 1
        return OTHER_EXAMPLES if differ else "", None

    def units_of(self, seeds: Iterable[RunSeed]) -> frozenset[Unit]:
        """The units of these seeds; none of a trivial baseline or of imported predictions."""
        if self.is_fixed:
            return frozenset()
        return frozenset(self.scores[seed].run.unit for seed in seeds)

    def quantity(
        self, seeds: Iterable[RunSeed], units: Collection[Unit], *, statistic: Statistic = "mean", scale: float = 1.0
    ) -> Quantity:
        """The mean over these units, each the mean of its seeds; seeds of other units are left out.

        Draws as far as predictions are stored. `statistic`: the centre over seeds that a paper prints.
        """
        by_seed = self.by_seed()
        if self.is_fixed:
            value = scale * next(iter(by_seed.values()))
            return Quantity(value) if self._undrawn(list(by_seed)) else Quantity(value, scale * self.by_draw(), self._n)
        of_units = grouped((self.scores[seed].run.unit, seed) for seed in seeds)
        members = {unit: of_unit for unit, of_unit in of_units.items() if unit in units}
        used = [seed for of_unit in members.values() for seed in of_unit]
        values = {unit: scale * statistics.fmean(map(by_seed.__getitem__, of)) for unit, of in members.items()}
        centre = None if statistic == "mean" else scale * statistics.median(map(by_seed.__getitem__, used))
        if self._undrawn(used):
            return Quantity.of_units(id(self.entry), values, None, None, centre)
        drawn = dict(zip(used, scale * self.by_seed_and_draw(used), strict=True))
        draws_of = {unit: np.mean([drawn[seed] for seed in of], axis=0) for unit, of in members.items()}
        return Quantity.of_units(id(self.entry), values, draws_of, self._n, centre)

    @property
    def _n(self) -> dict[str, int]:
        return {self.task: self.n}

    def _undrawn(self, seeds: Sequence[RunSeed]) -> bool:
        return not is_drawable(self.metric) or bool(self.missing(seeds))

    @cached_property
    def stored(self) -> dict[RunSeed, Predictions]:
        """The predictions of every seed that has a score and kept them."""
        return self.evidence.stored(self)

    @property
    def targets(self) -> np.ndarray:
        """The right answers (n,), in the order of the stored outputs."""
        return next(iter(self.stored.values())).targets

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the examples' row ids, equal for samples of the same examples; '' without predictions."""
        return next((predicted.index_fingerprint for predicted in self.stored.values()), "")

    @property
    def data(self) -> str:
        """The fingerprint of the data set's files."""
        return next((score.run.fingerprint for score in self.scores.values()), "")

    @property
    def n(self) -> int:
        """The number of examples with stored predictions."""
        return len(self.targets) if self.stored else 0

    @property
    def units(self) -> np.ndarray | None:
        """The page of each example (n,) for metrics whose bootstrap draws whole pages; None where it draws examples."""
        metric = metric_of(self.metric)
        return metric.units(next(iter(self.stored.values())).outputs) if metric and self.stored else None

    def outputs(self, seed: RunSeed) -> np.ndarray:
        """The stored outputs of one seed, row by row of `targets`: (n,), (n, C), or the columns of rankings."""
        return self.stored[seed].outputs


@dataclass(frozen=True)
class Matched:
    """The seeds and units on which the parts of one number are read: of each task the seeds that all of its samples
    have, and of each model the units that it has on all of its tasks.

    `whole`: the number of units that a model would have, were no task without them; by entry.
    """

    seeds: Mapping[str, tuple[RunSeed, ...]]  # by task
    units: Mapping[int, frozenset[Unit]]  # by entry
    whole: Mapping[int, int]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Matched:
        """The seeds and units that samples share. A trivial baseline has every seed."""
        seeds: dict[str, tuple[RunSeed, ...]] = {}
        for task, of_task in grouped((of.task, of) for of in samples).items():
            varying = [list(of.by_seed()) for of in of_task if not of.is_fixed]
            seeds[task] = (
                tuple(seed for seed in varying[0] if all(seed in of for of in varying)) if varying else (None,)
            )
        units: dict[int, frozenset[Unit]] = {}
        every: dict[int, frozenset[Unit]] = {}
        for sample in samples:
            key, own = id(sample.entry), sample.units_of([] if sample.is_fixed else seeds[sample.task])
            units[key] = units.get(key, own) & own
            every[key] = every.get(key, own) | own
        return cls(seeds, units, {key: len(of) for key, of in every.items()})

    def only(self, samples: Sequence[Sample]) -> Matched:
        """The match restricted to some of the samples."""
        seeds = {sample.task: self.seeds[sample.task] for sample in samples}
        keys = dict.fromkeys(id(sample.entry) for sample in samples)
        return Matched(seeds, {key: self.units[key] for key in keys}, {key: self.whole[key] for key in keys})

    def __hash__(self) -> int:
        return hash((tuple(self.seeds.items()), tuple(self.units.items())))

    def quantity(self, sample: Sample, *, statistic: Statistic = "mean", scale: float = 1.0) -> Quantity:
        """The score of one of the samples on these seeds and units."""
        units = self.units[id(sample.entry)]
        return sample.quantity(self.seeds[sample.task], units, statistic=statistic, scale=scale)

    def sum(self, parts: Sequence[tuple[float, Sample]]) -> Quantity:
        """A weighted sum of scores."""
        quantities = [self.quantity(sample, scale=weight) for weight, sample in parts]
        return quantities[0] if len(quantities) == 1 else apply(lambda *values: sum(values), quantities)

    def fewer(self) -> str:
        """The units of models that some task lacks units of, as 'over 2 of 4'; '' where none does."""
        fewer = {(len(of), self.whole[key]) for key, of in self.units.items() if len(of) < self.whole[key]}
        return f"over {' and '.join(f'{n} of {every}' for n, every in sorted(fewer))}" if fewer else ""

    def lacking(self, samples: Sequence[Sample]) -> str:
        """The reason that nothing can be made of the samples, or ''."""
        for sample in samples:
            if not sample.is_fixed and not self.seeds[sample.task]:
                return f"{sample.task}: no seed in common"
            if not sample.is_fixed and not self.units[id(sample.entry)]:
                return f"{sample.entry.model}: no seed that all tasks have"
        return ""


def _has_interval(sample: Sample) -> bool:
    """True where a table prints an interval over examples: not of rankings, whose tables are others."""
    metric = metric_of(sample.metric)
    return metric is not None and metric.outputs != "rankings" and not sample.missing()


def draw_together(samples: Sequence[Sample], *, constants: bool = False) -> None:
    """Computes the samples' missing draws, for all samples of the same examples at once, which is faster.

    Not needed for the result: draws made one by one are the same. `constants`: also the draws of the best
    constant prediction of each metric, which `Evidence.constant` reads.
    """
    # By what is drawn (task, split, examples, number of draws), then by metric
    groups: dict[tuple[str, str, str, int], dict[str, list[tuple[Sample, RunSeed]]]] = {}
    for sample in samples:
        of = sample.evidence
        for seed, stored in sample.stored.items():
            if of._key(sample, seed) not in of._drawn:
                key = (sample.task, sample.split, stored.index_fingerprint, of.draws)
                groups.setdefault(key, {}).setdefault(sample.metric, []).append((sample, seed))
    for (_, _, _, draws), by_metric in groups.items():
        parts, names = [], []
        for metric, members in by_metric.items():
            first, seed = members[0]
            targets = first.stored[seed].targets
            keys = [(sample.evidence, sample.evidence._key(sample, its)) for sample, its in members]
            outputs = [sample.outputs(its) for sample, its in members]
            if constants and (answer := _best_constant(first)) is not None:
                keys.append((first.evidence, first.evidence._constant_key(first)))
                outputs.append(answer)
            names.append(keys)
            parts.append(Scored(metric, targets, outputs, first.units))
        drawn = drawn_together(parts, draws=draws, seed=draw_seed(first.task))
        for keys, scores in zip(names, drawn, strict=True):
            for (evidence, name), row in zip(keys, scores, strict=True):
                evidence._drawn[name] = row


def _best_constant(sample: Sample) -> np.ndarray | None:
    metric = metric_of(sample.metric)
    return None if metric is None else metric.best_constant(sample.targets)


def draw_seed(task: str) -> int:
    """The bootstrap seed of a task, a hash of its name: equal for all models, different between tasks."""
    return zlib.crc32(task.encode())
