"""Results on minimal pairs: the accuracy of each model by group of paradigms, with its interval over pairs and seeds.

Pairs are drawn within their paradigms, the same for every model; seeds are those of the pre-training.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np

from hashbench.common.paradigms import Paradigms
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry
from hashbench.results.read.samples import Evidence, Sample, draw_seed
from hashbench.scores.draws import drawn
from hashbench.scores.estimates import Estimate, combine_matched
from hashbench.scores.pairs import pair_accuracy, ties
from hashbench.scores.registry import find_metric


@dataclass(frozen=True)
class Group:
    """Some paradigms of a task that are scored together, by one metric."""

    name: str
    level: str  # "" of all paradigms, else phenomenon, field, paradigm
    members: tuple[bool, ...]  # of each paradigm
    metric: str = pair_accuracy.name

    def rows(self, targets: np.ndarray) -> np.ndarray:
        """Which pairs, by their paradigms (n,), belong to it: (n,) bool."""
        return np.array(self.members, bool)[targets]


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
        metric, kept = find_metric(group.metric), group.rows(sample.targets)
        targets = sample.targets[kept]
        outputs = [predicted.outputs[kept] for predicted in sample.stored.values()]
        scores = [metric.scored(targets, of).value for of in outputs]
        by_seed = [score for score in scores if score is not None]
        if len(by_seed) < len(scores) or not scores:
            return Estimate(float("nan"), float("nan"), float("nan"))
        if draws is None:
            return Estimate(statistics.fmean(by_seed), float("nan"), float("nan"), len(by_seed), len(targets))
        by_draw = drawn(group.metric, targets, outputs, draws=draws, seed=draw_seed(sample.task))  # (seeds, draws)
        return combine_matched(by_seed, by_draw, n_examples=len(targets))

    def n_ties(self) -> dict[str, list[int]]:
        """The number of pairs with equal scores, of each seed, by the title of its row."""
        return {sample.entry.title: [ties(of.outputs) for of in sample.stored.values()] for sample in self.samples}

    def n_pairs(self) -> int:
        """The number of pairs that were scored."""
        return max((sample.n for sample in self.samples), default=0)


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
