"""Results on minimal pairs: the accuracy of each model by group of paradigms, with its interval over pairs and seeds.

Pairs are drawn within their paradigms, the same for every model; seeds are the pre-training's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hashbench.common.measured import Paradigms
from hashbench.results.read.evidence import Evidence, Sample, draw_seed
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry, grouped
from hashbench.scores.base import SummedMetric, find_metric
from hashbench.scores.draws import Estimate, draw_counts
from hashbench.scores.minimal_pairs import METRICS, pair_accuracy, ties
from hashbench.scores.quantity import Quantity

METRIC_NAMES = tuple(metric.name for metric in METRICS)


@dataclass(frozen=True)
class Group:
    """Some paradigms of a task that are scored together, by one metric."""

    name: str
    level: str  # "" of all paradigms, else phenomenon, field, paradigm
    members: tuple[bool, ...]  # of each paradigm
    metric: str = pair_accuracy.name


@dataclass(frozen=True)
class PairResults:
    """A task of minimal pairs with the outcomes of every model and trivial baseline of an experiment that has some."""

    task: str
    paradigms: Paradigms
    samples: tuple[Sample, ...]

    def groups(self) -> list[Group]:
        """All pairs, by each metric; then the groups of every level, the largest groups first; then the paradigms."""
        names, everything = self.paradigms.names, (True,) * len(self.paradigms.names)
        groups = [Group("all pairs", "", everything)]
        groups += [
            Group("mean over tokens", "", everything, "pair_accuracy_mean"),
            Group("least likely token", "", everything, "pair_accuracy_minimum"),
            Group("equally many tokens", "", everything, "pair_accuracy_equal_length"),
        ]
        if n_same := sum(self.paradigms.same_words):
            groups.append(Group(f"the same words ({n_same} paradigms)", "", self.paradigms.same_words))
        levels = sorted(self.paradigms.groups.items(), key=lambda item: len(set(item[1])))
        for level, of_each in levels:
            groups += [Group(name, level, tuple(group == name for group in of_each)) for name in sorted(set(of_each))]
        if len(names) > 1:
            groups += [Group(name, "paradigm", tuple(other == name for other in names)) for name in names]
        return groups

    def estimates(self, group: Group, draws: int | None) -> list[Estimate | None]:
        """The accuracy of each sample on a group, in its natural range; None without stored predictions.

        `draws` of the pairs give an interval, together with the seeds; None: no interval.
        """
        return [None if sample.missing() else self._estimate(sample, group, draws) for sample in self.samples]

    def _estimate(self, sample: Sample, group: Group, draws: int | None) -> Estimate:
        members = np.array(group.members, bool)
        sums = self._sums(sample, group.metric, None)[:, members].sum(axis=1)  # (seeds, 1, 2)
        by_seed = _scores(group.metric, sums)[:, 0]
        n = int(members[sample.targets].sum())
        if not np.isfinite(by_seed).all():
            return Estimate(math.nan, math.nan, math.nan)
        if draws is None:
            return Estimate(float(by_seed.mean()), math.nan, math.nan, len(by_seed), n)
        drawn = _scores(group.metric, self._sums(sample, group.metric, draws)[:, members].sum(axis=1))  # (seeds, draws)
        if sample.is_fixed:
            return Quantity(float(by_seed[0]), drawn[0], {sample.task: n}).estimate()
        rows = grouped((sample.scores[seed].run.unit, row) for row, seed in enumerate(sample.stored))
        values = {unit: float(by_seed[of].mean()) for unit, of in rows.items()}
        draws_of = {unit: drawn[of].mean(axis=0) for unit, of in rows.items()}
        return Quantity.of_units(sample.entry.model, values, draws_of, {sample.task: n}).estimate()

    def _sums(self, sample: Sample, metric: str, draws: int | None) -> np.ndarray:
        """The metric's summands added up by paradigm, in each draw of its pairs: (seeds, paradigms, draws, 2).

        Draws are made once, for all samples of the same pairs: (seed of a sample, metric) are their columns.
        """
        key = (sample.fingerprint, draws)
        if key not in self._drawn:
            same = [of for of in self.samples if not of.missing() and of.fingerprint == sample.fingerprint]
            summed = _summed(same, len(self.paradigms.names), draws)
            self._drawn[key] = {id(of): sums for of, sums in zip(same, summed, strict=True)}
        return self._drawn[key][id(sample)][:, METRIC_NAMES.index(metric)]

    @cached_property
    def _drawn(self) -> dict[tuple[str, int | None], dict[int, np.ndarray]]:
        return {}

    def n_ties(self) -> dict[str, list[int]]:
        """The number of pairs with equal scores, of each seed, by the title of its row."""
        return {sample.entry.title: [ties(of.outputs) for of in sample.stored.values()] for sample in self.samples}

    def n_pairs(self) -> int:
        """The number of pairs that were scored."""
        return max((sample.n for sample in self.samples), default=0)


def _scores(metric: str, sums: np.ndarray) -> np.ndarray:
    """The metric's scores (seeds, draws) of sums (seeds, draws, 2)."""
    of = find_metric(metric)
    assert isinstance(of, SummedMetric)
    return np.stack([of.of_sums(np.zeros(len(of_seed)), of_seed) for of_seed in sums])


def _summed(samples: Sequence[Sample], n_paradigms: int, draws: int | None) -> list[np.ndarray]:
    """For each of the samples, of the same pairs, sums (seeds, metrics, paradigms, draws, 2); without draws as one."""
    targets = samples[0].targets
    outputs = [predicted.outputs for sample in samples for predicted in sample.stored.values()]
    columns = np.stack([[metric.columns(targets, of) for metric in METRICS] for of in outputs])  # (runs, metrics, n, 2)
    table = np.moveaxis(columns, 2, 0).reshape(len(targets), -1).astype(np.float32)
    sums = np.zeros((n_paradigms, draws or 1, table.shape[1]), np.float32)  # whole numbers, thus exact
    for paradigm in np.unique(targets):
        rows, at = table[targets == paradigm], 0
        # Each paradigm has another seed: its draws are added to other paradigms' draws and must be independent of them
        seed = draw_seed(samples[0].task) + int(paradigm)
        blocks = [np.ones((1, len(rows)))] if draws is None else draw_counts(len(rows), draws, seed)
        for counts in blocks:
            sums[paradigm, at : at + len(counts)] = counts.astype(np.float32) @ rows
            at += len(counts)
    by_run = np.moveaxis(sums.reshape(n_paradigms, draws or 1, *columns.shape[:2], 2), (2, 3), (0, 1))
    ends = np.cumsum([len(sample.stored) for sample in samples])
    return np.split(by_run, ends[:-1])


def pair_results(measured: Measured, evidence: Evidence) -> list[PairResults]:
    """The results on every task of minimal pairs of an experiment; none where no run on one is finished."""
    results = []
    for task in measured.tasks():
        notes = [dict(run.origin.notes) for run in measured.runs if run.task == task and run.state == "done"]
        paradigms = next(filter(None, map(Paradigms.of_notes, notes)), None)
        if paradigms is None:
            continue
        samples = [sample for entry in measured.entries if (sample := _sample(evidence, entry, task)) is not None]
        results.append(PairResults(task, paradigms, tuple(samples)))
    return results


def _sample(evidence: Evidence, entry: Entry, task: str) -> Sample | None:
    """The outcomes of an entry on a task, by whichever metric; None where it has no score."""
    own = evidence.own(entry, task)
    return None if own is None else evidence.of(entry, task, pair_accuracy.name, own.split)
