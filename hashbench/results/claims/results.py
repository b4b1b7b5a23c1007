"""An experiment's results as the quantities that claims compare; what is missing is named, never left out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hashbench.results.claims.claim import Claim
from hashbench.results.claims.columns import (
    COSTS,
    PRR,
    SHARES,
    Absent,
    Meaning,
    ScoreColumn,
    SizeColumn,
    StoredScore,
    TimeColumn,
    exact_value,
    meaning,
    operations,
    other_test_set,
    published_value,
    quoted_systems,
)
from hashbench.results.claims.grammar import ColumnName, Columns, Missing, column_names
from hashbench.results.claims.verdicts import absent_model
from hashbench.results.papers.paper import Layout, Paper
from hashbench.results.read import queries
from hashbench.results.read.evidence import Evidence, Matched, Sample
from hashbench.results.read.measured import MAJORITY, PERCENT, Measured, baseline_value, baselines
from hashbench.results.read.runs import Entry
from hashbench.results.tables.table import EACH_BEST
from hashbench.scores.base import is_drawable, metric_of
from hashbench.scores.quantity import Quantity, apply, mean, over

BASELINE = "baseline_"
NOTHING = Matched({}, {}, {})
CONSTANT = "the best constant"
MOST_FREQUENT = (MAJORITY, "popularity", "most-frequent-tag")  # trivial baselines
Known = TypeVar("Known")


@dataclass(frozen=True)
class Results:
    """The numbers of one experiment for the claims of a paper; `paper` None: for user-defined claims."""

    measured: Measured
    paper: Paper | None
    evidence: Evidence
    times: TimedRuns
    matched: Matched = NOTHING  # the seeds and units on which models' scores are read
    exact: bool = False  # sizes from the exact counts of the paper's models, not from the runs
    length: int = 0  # of an input whose operations are counted
    one_seed: bool = False  # one seed may decide, on its examples alone
    # Meanings of columns and numbers of models, which many parts of many claims read; shared by copies
    once: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    def for_claim(self, claim: Claim, *, of_paper: bool) -> Results:
        """The results for deciding one claim, with exact instead of measured counts if a paper claims only counts."""
        return replace(self, exact=of_paper and claim.counts_only)

    def meaning(self, column: ColumnName) -> Meaning:
        """The stored numbers behind a column name. Raises Missing for an unknown or absent column."""
        read = self._once(("meaning", column), lambda: meaning(self.measured, self.paper, column))
        if read is None:
            raise Missing(f"column {column}: nothing here measures it")
        if isinstance(read, Absent):
            raise Missing(f"column {column}: {read.why}")
        return read

    def _once(self, key: tuple[object, ...], make: Callable[[], Known]) -> Known:
        """The value of `make`, which is called once for each key."""
        if key not in self.once:
            self.once[key] = make()
        value: Known = self.once[key]
        return value

    def is_quoted(self, slug: str) -> bool:
        """True if the paper only quotes the system and the experiment has no model of that name."""
        return self.paper is not None and slug in quoted_systems(self.paper) and slug not in self.measured.labels()

    def leaf(self, slug: str, column: ColumnName) -> Quantity:
        """A model's number in a column on its own part of `matched`, in percent, ms, parameters or bytes.

        Raises Missing.
        """
        own = self.matched.only(self.samples(slug, column))
        key = ("leaf", slug, column, own, self.exact, self.length)
        return self._once(key, lambda: self._leaf(slug, column))

    def _leaf(self, slug: str, column: ColumnName) -> Quantity:
        read = self.meaning(column)
        if isinstance(read, ScoreColumn):
            return self._quoted(slug, column, read) if self.is_quoted(slug) else self._score(slug, read)
        families = [section.families for layout in self._layouts for section in layout.sections]
        members = next((family[slug] for family in families if slug in family), (slug,))
        return apply(mean, [self._fact(member, read) for member in members])

    @property
    def _layouts(self) -> Collection[Layout]:
        return self.paper.tables.values() if self.paper else ()

    def floor(self, name: str, column: ColumnName) -> Quantity:
        """The floor of a column of scores: the mean over its scores of each one's best trivial baseline."""
        return self._once(
            ("floor", column), lambda: self._of_scores(column, lambda score: self._best_trivial(score)[1])
        )

    def floor_name(self, column: Columns) -> str:
        """The trivial baseline that is the floor of a column, or words that it is each task's best. Raises Missing."""
        read = [of for of in map(self.meaning, column_names(column)) if isinstance(of, ScoreColumn)]
        names = {self._best_trivial(score)[0] for of in read for score in of.scores}
        return names.pop() if len(names) == 1 else EACH_BEST

    def _best_trivial(self, score: StoredScore) -> tuple[str, Quantity]:
        """The name and the score of the best trivial baseline of a task. Raises Missing."""
        entries = baselines(self.measured, [score.task])
        if not entries:
            raise Missing(f"no trivial baseline on {score.task}")
        values = {}
        for entry in entries:
            with suppress(Missing):  # one that lacks this metric
                values[entry.model] = self._trivial_score(entry, score)
        if not values:
            raise Missing(f"no {score.metric} of a trivial baseline on {score.task}")
        return max(values.items(), key=lambda item: item[1].value)

    def constant(self, name: str, column: ColumnName) -> Quantity:
        """The best constant prediction's value of a column of scores. Raises Missing where it is not known."""
        return self._once((CONSTANT, column), lambda: self._of_scores(column, self._constant_score))

    def _of_scores(self, column: ColumnName, value: Callable[[StoredScore], Quantity]) -> Quantity:
        read = self.meaning(column)
        if not isinstance(read, ScoreColumn):
            raise TypeError(f"{column} holds no scores")
        mean_of_scores = _mean(read, value)
        return self._retained(mean_of_scores, read) if read.over_baseline else mean_of_scores

    def _constant_score(self, score: StoredScore) -> Quantity:
        """The best constant's score: computed on the examples, or the score of a trivial baseline that is constant."""
        samples = (self.evidence.of(entry, score.task, score.metric, score.split) for entry in self.measured.entries)
        scored = [sample for sample in samples if sample.by_seed()]
        stored = next((sample for sample in scored if not sample.missing()), None)
        of_any = stored or next(iter(scored), None)
        if of_any is not None and (value := self.evidence.constant(of_any)) is not None:
            return value
        constant = [self._trivial_score(of.entry, score) for of in scored if of.is_fixed and self._is_constant(of)]
        if not constant:
            raise Missing(f"no constant prediction is known of {score.task}")
        return max(constant, key=lambda quantity: quantity.value)

    def _is_constant(self, sample: Sample) -> bool:
        """True for a trivial baseline that predicts one constant, so far as its predictions are stored.

        For items and tags it is the baseline of the most frequent ones.
        """
        metric = metric_of(sample.metric)
        if sample.missing() or (metric is not None and metric.outputs in ("rankings", "spans")):
            return sample.entry.model in MOST_FREQUENT
        return metric is not None and all(metric.is_constant(of.outputs) for of in sample.stored.values())

    def samples_of_baselines(self, columns: Sequence[ColumnName]) -> list[Sample]:
        """The columns' scores of trivial baselines, as far as these have them. Raises Missing for an unknown column."""
        scored = [read for read in map(self.meaning, columns) if isinstance(read, ScoreColumn)]
        samples = [
            self.evidence.of(entry, score.task, score.metric, score.split)
            for read in scored
            for score in read.scores
            for entry in baselines(self.measured, [score.task])
        ]
        return [sample for sample in samples if sample.scores]

    def entry(self, label: str) -> Entry:
        """The runs of a model, or of a trivial baseline where no model has its name.

        Raises Missing where there are none, or several entries that must not share a cell.
        """
        named = [entry for entry in self.measured.entries if entry.model == label]
        entries = [entry for entry in named if not entry.is_baseline] or named
        if not entries:
            raise Missing(absent_model(label))
        if len(entries) > 1:
            settings = "; ".join(entry.settings for entry in entries)
            raise Missing(f"model {label}: its runs must not share a number ({settings})")
        return entries[0]

    def variant(self, slug: str) -> tuple[str, str]:
        """A row's model and the suffix of its metrics: 'a50-beam10' is ('a50', ' beam=10')."""
        for layout in self._layouts:
            for variant in layout.variants:
                if variant.key and slug.endswith(variant.key) and slug not in self.measured.labels():
                    return slug.removesuffix(variant.key), variant.metric
        return slug, ""

    def samples(self, slug: str, column: ColumnName) -> list[Sample]:
        """The scores behind a model's column, with the baseline's if the column is a ratio to it. Raises Missing."""
        return self._once(("samples", slug, column), lambda: self._samples(slug, column))

    def _samples(self, slug: str, column: ColumnName) -> list[Sample]:
        read = self.meaning(column)
        if not isinstance(read, ScoreColumn) or self.is_quoted(slug):
            return []
        label, suffix = self.variant(slug)
        samples = [self._sample(self.entry(label), score, suffix) for score in read.scores]
        if read.over_baseline:
            plain = replace(column, name=column.name.removeprefix(PRR))
            samples += self.samples(self.measured.experiment.baseline, plain)
        return samples

    def _sample(self, entry: Entry, score: StoredScore, suffix: str) -> Sample:
        """A model's measured values of one score, by seed and draw. Raises Missing where no run has one."""
        sample = self.evidence.of(entry, score.task, score.metric + suffix, score.split)
        if not sample.by_seed():
            raise Missing(f"{entry.model} on {score.task}: {_why_none(entry, sample)}")
        return sample

    def _score(self, slug: str, read: ScoreColumn) -> Quantity:
        label, suffix = self.variant(slug)
        entry = self.entry(label)
        value = _mean(read, lambda score: self._score_of_seeds(entry, score, suffix))
        return self._retained(value, read) if read.over_baseline else value

    def _retained(self, value: Quantity, read: ScoreColumn) -> Quantity:
        """A score as a share of the baseline's score, in percent."""
        baseline = self._score(self.measured.experiment.baseline, replace(read, over_baseline=False))
        return apply(lambda score, of_baseline: PERCENT * over(score, of_baseline), [value, baseline])

    def _score_of_seeds(self, entry: Entry, score: StoredScore, suffix: str) -> Quantity:
        """One score in its natural range, with the paper's statistic over seeds (EELBERT prints medians)."""
        sample = self._sample(entry, score, suffix)
        return self.matched.quantity(sample, statistic=self.paper.statistic if self.paper else "mean")

    def _trivial_score(self, entry: Entry, score: StoredScore) -> Quantity:
        """A trivial baseline's score. Raises Missing."""
        sample = self.evidence.of(entry, score.task, score.metric, score.split)
        value = baseline_value(list(sample.scores.values()))
        if value is None:
            raise Missing(f"no {score.metric} of {entry.model} on {score.task}")
        if not sample.by_seed() or not is_drawable(sample.metric) or sample.missing():
            return Quantity(value)
        return Quantity(value, sample.by_draw())

    def _quoted(self, slug: str, column: ColumnName, read: ScoreColumn) -> Quantity:
        """A quoted system's printed score, if the experiment has the paper's test set. Raises Missing."""
        assert self.paper is not None
        for task in dict.fromkeys(score.task for score in read.scores):
            why = other_test_set(self.measured, self.paper, task) if task in self.measured.tasks() else "no such task"
            if why:
                raise Missing(f"quoted {slug}: {why}")
        return Quantity(published_value(self.paper, slug, column))

    def _fact(self, label: str, read: TimeColumn | SizeColumn) -> Quantity:
        """A time, an operation count, a size or a share of a model. Raises Missing."""
        if isinstance(read, TimeColumn):
            return self._time(label, read)
        if read.name in COSTS:
            # Counts of the papers' models at base: an experiment's own may be of another size.
            counted = operations()
            if not self.exact or (label, self.length) not in counted:
                raise Missing(f"{read.name} of {label}: not counted here")
            return Quantity(counted[label, self.length][read.name])
        if self.exact and self.paper:
            exact = exact_value(self.paper, label, read.name)
            if exact is None:
                raise Missing(f"{read.name} of {label}: no exact count at hand")
            return Quantity(exact)
        fact = self.measured.fact(self.entry(label), read.name)
        if fact is None or fact.value is None:
            raise Missing(f"{read.name} of {label}: not measured")
        return Quantity(fact.value * (PERCENT if read.name in SHARES else 1.0))

    def _time(self, label: str, read: TimeColumn) -> Quantity:
        """A model's mean time, or its ratio to the mean time of the plain model of its size. Raises Missing."""
        runs = self.times.of(self.entry(label).model, read)
        if not runs:
            raise Missing(f"time of {label}: no efficiency run has {read.name}")
        value = Quantity.of_units(label, dict(enumerate(runs)))
        if not read.over_pair:
            return value
        partner = next((layout.pairs[label] for layout in self._layouts if label in layout.pairs), None)
        if partner is None:
            raise Missing(f"{label}: no plain model of its size is known")
        return apply(over, [value, self._time(partner, replace(read, over_pair=False))])


class TimedRuns:
    """The times of an experiment's efficiency runs. Each run measures a model and the baseline in turn.

    A time is the model's over the baseline's of the same run, times the baseline's mean over all runs: the machine's
    mood during a run cancels, and comparing a model with the baseline compares what was interleaved.
    """

    def __init__(self, measured: Measured) -> None:
        self._baseline = measured.experiment.baseline
        # model -> run -> (name, task) -> value
        self._runs: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
        for row in measured.query(queries.TIMES, experiment=measured.experiment.id):
            runs = self._runs.setdefault(row["model"], {})
            runs.setdefault(row["run_id"], {})[row["name"], row["task"]] = row["value"]

    def of(self, model: str, timed: TimeColumn) -> list[float]:
        """The model's time in ms, or its speed-up, in each run that measured it: the lowest or highest over tasks."""
        by_run = [self._by_task(run, timed, model) for run in self._runs.get(model, {}).values()]
        return [max(values) if timed.end == "high" else min(values) for values in by_run if values]

    def _by_task(self, run: Mapping[tuple[str, str], float], timed: TimeColumn, model: str) -> list[float]:
        values = []
        for (name, task), value in run.items():
            if name != timed.name:
                continue
            beside = run.get((f"{BASELINE}{name}", task))
            if beside is None:
                values.append(float("nan") if timed.speedup else value)
            elif model == self._baseline:
                values.append(1.0 if timed.speedup else self._typical(name, task))
            else:
                values.append(beside / value if timed.speedup else value / beside * self._typical(name, task))
        return values

    def _typical(self, name: str, task: str) -> float:
        """The baseline's mean time over all runs of all models."""
        key = (f"{BASELINE}{name}", task)
        return statistics.fmean(run[key] for runs in self._runs.values() for run in runs.values() if key in run)


def _mean(column: ScoreColumn, value: Callable[[StoredScore], Quantity]) -> Quantity:
    """The mean over groups of the mean of their scores, in percent."""
    groups = [apply(mean, [value(score) for score in group]) for group in column.groups]
    return apply(lambda *values: PERCENT * mean(*values), groups)


def _why_none(entry: Entry, sample: Sample) -> str:
    """The reason that a model has no value of a metric on a task."""
    runs = entry.of_task(sample.task)
    if not runs:
        return "not in this experiment"
    if sample.scores:
        return f"{sample.metric} is undefined: {next(iter(sample.scores.values())).reason}"
    for run in runs:
        if run.state != "done":
            return f"{run.state}, {run.reason}" if run.reason else run.state
    return f"no {sample.metric} on {sample.split}" if sample.metric else "no finished run"
