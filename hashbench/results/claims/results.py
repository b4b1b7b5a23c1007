"""What an experiment measured, as the quantities that claims compare; what is missing is named, never left out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hashbench.results.claims.columns import (
    PRR,
    SHARES,
    Absent,
    Meaning,
    ScoreColumn,
    SizeColumn,
    StoredScore,
    TimeColumn,
    meaning,
)
from hashbench.results.claims.expressions import ColumnName
from hashbench.results.claims.grammar import Claim
from hashbench.results.claims.published import (
    COSTS,
    exact_value,
    operations,
    other_test_set,
    published_value,
    quoted_systems,
)
from hashbench.results.claims.quantities import Quantity, apply, mean, over
from hashbench.results.claims.rule import absent_model
from hashbench.results.papers.paper import Paper
from hashbench.results.read import queries
from hashbench.results.read.measured import PERCENT, Measured, baseline_value, baselines
from hashbench.results.read.runs import Entry
from hashbench.results.read.samples import Evidence, Sample
from hashbench.results.tables.cells import CENTRES

BASELINE = "baseline_"
Seeds = frozenset[int]


class Missing(LookupError):
    """What a claim needs and the experiment has not."""


@dataclass(frozen=True)
class Results:
    """The quantities of one experiment. `paper` None: claims of the experiment's own."""

    measured: Measured
    paper: Paper | None
    evidence: Evidence
    times: TimedRuns
    exact: bool = False  # sizes from the exact counts of the paper's models, not from the runs
    length: int = 0  # of an input whose operations are counted
    one_seed: bool = False  # whether one seed may decide, on its examples alone

    def for_claim(self, claim: Claim, *, of_paper: bool) -> Results:
        """The same for one claim: a paper's own claims on counts take the exact ones of its models."""
        return replace(self, exact=of_paper and claim.counts_only)

    def meaning(self, column: ColumnName) -> Meaning:
        """What a column reads. Raises Missing."""
        known = meaning(self.measured, self.paper, column)
        if known is None:
            raise Missing(f"column {column}: nothing here measures it")
        if isinstance(known, Absent):
            raise Missing(f"column {column}: {known.why}")
        return known

    def is_quoted(self, slug: str) -> bool:
        """Whether the paper only quotes it and the experiment has no model of that name."""
        return self.paper is not None and slug in quoted_systems(self.paper) and slug not in self.measured.labels()

    def seeds(self, slug: str, column: ColumnName) -> Seeds | None:
        """The seeds of which a model has all of a column's scores; None where no seed varies it. Raises Missing."""
        sets = [set(sample.by_seed()) for sample in self.samples(slug, column)]
        return frozenset(seed for seed in set.intersection(*sets) if seed is not None) if sets else None

    def leaf(self, slug: str, column: ColumnName, seeds: Seeds) -> Quantity:
        """A model's column, of these seeds, in percent, ms, single parameters or bytes. Raises Missing."""
        known = self.meaning(column)
        if isinstance(known, ScoreColumn):
            return self._quoted(slug, column, known) if self.is_quoted(slug) else self._score(slug, known, seeds)
        layouts = self.paper.tables.values() if self.paper else ()
        families = [section.families for layout in layouts for section in layout.sections]
        members = next((family[slug] for family in families if slug in family), (slug,))
        return apply(mean, [self._fact(member, known) for member in members])

    def baselines(self, columns: Sequence[ColumnName]) -> list[str]:
        """The trivial baselines that have any of the scores of columns."""
        known = [self.meaning(column) for column in columns]
        scores = [score for each in known if isinstance(each, ScoreColumn) for score in each.scores]
        having = [
            entry.model
            for score in scores
            for entry in baselines(self.measured, [score.task])
            if self.evidence.of(entry, score.task, score.metric, score.split).scores
        ]
        return list(dict.fromkeys(having))

    def trivial(self, name: str, column: ColumnName, seeds: Seeds) -> Quantity:
        """A trivial baseline's value of a column of scores. Raises Missing where it has not all of them."""
        known = self.meaning(column)
        if not isinstance(known, ScoreColumn):
            raise TypeError(f"{column} holds no scores")
        tasks = [score.task for score in known.scores]
        entry = next((entry for entry in baselines(self.measured, tasks) if entry.model == name), None)
        if entry is None:
            raise Missing(f"no {name} on {', '.join(tasks)}")
        value = _mean(known, lambda score: self._trivial_score(entry, score))
        return self._retained(value, known, seeds) if known.over_baseline else value

    def entry(self, label: str) -> Entry:
        """The runs of a model. Raises Missing where there are none, or several that must not share a cell."""
        entries = [entry for entry in self.measured.entries if entry.model == label and not entry.is_baseline]
        if not entries:
            raise Missing(absent_model(label))
        if len(entries) > 1:
            settings = "; ".join(entry.settings for entry in entries)
            raise Missing(f"model {label}: its runs must not share a number ({settings})")
        return entries[0]

    def variant(self, slug: str) -> tuple[str, str]:
        """The model of a row and what its metrics end in: 'a50-beam10' is a50 read with ' beam=10'."""
        for layout in self.paper.tables.values() if self.paper else ():
            for variant in layout.variants:
                if variant.key and slug.endswith(variant.key) and slug not in self.measured.labels():
                    return slug.removesuffix(variant.key), variant.metric
        return slug, ""

    def samples(self, slug: str, column: ColumnName) -> list[Sample]:
        """Everything that a model's column stands on, the baseline's scores too where it is a ratio. Raises Missing."""
        known = self.meaning(column)
        if not isinstance(known, ScoreColumn) or self.is_quoted(slug):
            return []
        label, suffix = self.variant(slug)
        samples = [self._sample(self.entry(label), score, suffix) for score in known.scores]
        if known.over_baseline:
            plain = replace(column, name=column.name.removeprefix(PRR))
            samples += self.samples(self.measured.experiment.baseline, plain)
        return samples

    def _sample(self, entry: Entry, score: StoredScore, suffix: str) -> Sample:
        """What was measured of a score. Raises Missing where no run has a value."""
        sample = self.evidence.of(entry, score.task, score.metric + suffix, score.split)
        if not sample.by_seed():
            raise Missing(f"{entry.model} on {score.task}: {_why_none(entry, sample)}")
        return sample

    def _score(self, slug: str, known: ScoreColumn, seeds: Seeds) -> Quantity:
        label, suffix = self.variant(slug)
        entry = self.entry(label)
        value = _mean(known, lambda score: self._score_of_seeds(entry, score, seeds, suffix=suffix))
        return self._retained(value, known, seeds) if known.over_baseline else value

    def _retained(self, value: Quantity, known: ScoreColumn, seeds: Seeds) -> Quantity:
        """A score over the baseline's, in percent."""
        baseline = self._score(self.measured.experiment.baseline, replace(known, over_baseline=False), seeds)
        return apply(lambda ours, theirs: PERCENT * over(ours, theirs), [value, baseline])

    def _score_of_seeds(self, entry: Entry, score: StoredScore, seeds: Seeds, *, suffix: str) -> Quantity:
        """One score in its natural range, its centre the paper's (EELBERT prints medians)."""
        sample = self._sample(entry, score, suffix)
        by_seed = {seed: value for seed, value in sample.by_seed().items() if seed is not None and seed in seeds}
        centre = CENTRES[self.paper.statistic if self.paper else "mean"](list(by_seed.values()))
        if not drawable(sample.metric) or sample.missing(list(by_seed)):
            return Quantity(centre, by_seed)
        draws = sample.by_seed_and_draw(list(by_seed))
        return Quantity(
            centre, by_seed, draws.mean(axis=0), {score.task: sample.n}, dict(zip(by_seed, draws, strict=True))
        )

    def _trivial_score(self, entry: Entry, score: StoredScore) -> Quantity:
        """A trivial baseline's score. Raises Missing."""
        sample = self.evidence.of(entry, score.task, score.metric, score.split)
        value = baseline_value(list(sample.scores.values()))
        if value is None:
            raise Missing(f"no {score.metric} of {entry.model} on {score.task}")
        if not sample.by_seed() or not drawable(sample.metric) or sample.missing():
            return Quantity(value)
        return Quantity(value, None, sample.by_draw())

    def _quoted(self, slug: str, column: ColumnName, known: ScoreColumn) -> Quantity:
        """A quoted system's printed score, on the same test set only."""
        assert self.paper is not None
        for task in dict.fromkeys(score.task for score in known.scores):
            why = other_test_set(self.measured, self.paper, task) if task in self.measured.tasks() else "no such task"
            if why:
                raise Missing(f"quoted {slug}: {why}")
        return Quantity(published_value(self.paper, slug, column))

    def _fact(self, label: str, known: TimeColumn | SizeColumn) -> Quantity:
        if isinstance(known, TimeColumn):
            return self._time(label, known)
        if known.name in COSTS:
            # Counts of the papers' models at base: an experiment's own may be of another size.
            counted = operations()
            if not self.exact or (label, self.length) not in counted:
                raise Missing(f"{known.name} of {label}: not counted here")
            return Quantity(counted[label, self.length][known.name])
        if self.exact and self.paper:
            exact = exact_value(self.paper, label, known.name)
            if exact is None:
                raise Missing(f"{known.name} of {label}: no exact count at hand")
            return Quantity(exact)
        fact = self.measured.fact(self.entry(label), known.name)
        if fact is None or fact.value is None:
            raise Missing(f"{known.name} of {label}: not measured")
        return Quantity(fact.value * (PERCENT if known.name in SHARES else 1.0))

    def _time(self, label: str, known: TimeColumn) -> Quantity:
        runs = self.times.of(self.entry(label).model, known)
        if not runs:
            raise Missing(f"time of {label}: no efficiency run has {known.name}")
        value = Quantity(sum(runs) / len(runs), dict(enumerate(runs)))
        if not known.over_pair:
            return value
        layouts = self.paper.tables.values() if self.paper else ()
        partner = next((layout.pairs[label] for layout in layouts if label in layout.pairs), None)
        if partner is None:
            raise Missing(f"{label}: no plain model of its size is known")
        return apply(over, [value, self._time(partner, replace(known, over_pair=False))])


class TimedRuns:
    """All timed runs of an experiment. Model and baseline are measured in turn within a run: that is what counts.

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
        """The time in ms of every run that has it (of a speed-up, the baseline's over it): low or high over tasks."""
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


def drawable(metric: str) -> bool:
    """Whether a metric follows from the stored predictions: those of another beam are not stored.

    >>> drawable("f1"), drawable("rec@1 tenth=3"), drawable("rec@1 beam=10")
    (True, True, False)
    """
    name, _, condition = metric.partition(" ")
    return not condition or condition.startswith("tenth=")


def _mean(known: ScoreColumn, read: Callable[[StoredScore], Quantity]) -> Quantity:
    """The mean over groups of the mean of their scores, in percent."""
    groups = [apply(mean, [read(score) for score in group]) for group in known.groups]
    return apply(lambda *values: PERCENT * mean(*values), groups)


def _why_none(entry: Entry, sample: Sample) -> str:
    """Why a model has no value of a metric on a task."""
    runs = entry.of_task(sample.task)
    if not runs:
        return "not in this experiment"
    if sample.scores:
        return f"{sample.metric} is undefined: {next(iter(sample.scores.values())).reason}"
    for run in runs:
        if run.state != "done":
            return f"{run.state}, {run.reason}" if run.reason else run.state
    return f"no {sample.metric} on {sample.split}" if sample.metric else "no finished run"
