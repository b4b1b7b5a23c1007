"""What an experiment measured, as the quantities that claims compare; what is missing is named, never left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hashbench.claims.columns import PRR, SHARES, Absent, Counted, Meaning, Reading, Scored, Timed, meaning
from hashbench.claims.expressions import Score, mean, over
from hashbench.claims.grammar import Claim
from hashbench.claims.published import COSTS, exact_value, operations, published_value
from hashbench.claims.quantities import Quantity, apply, constant
from hashbench.claims.quoted import other_test_set, quoted_systems
from hashbench.claims.times import Times
from hashbench.papers.paper import Paper
from hashbench.results.measured import Entry, Measured
from hashbench.results.samples import Evidence, Sample
from hashbench.tables.cells import CENTRES, PERCENT

CORRELATIONS = ("matthews", "pearson", "spearman")
FLOORS = ("majority", "popularity")  # what claims that come free must beat first: of texts, of hidden items
Seeds = frozenset[int]


class Missing(LookupError):
    """What a claim needs and the experiment has not."""


@dataclass(frozen=True)
class Results:
    """The quantities of one experiment. `paper` None: claims of the experiment's own."""

    measured: Measured
    paper: Paper | None
    evidence: Evidence
    times: Times
    exact: bool = False  # sizes from the exact counts of the paper's models, not from the runs
    length: int = 0  # of an input whose operations are counted

    def for_claim(self, claim: Claim, *, of_paper: bool) -> Results:
        """The same for one claim: a paper's own claims on counts take the exact ones of its models."""
        return replace(self, exact=of_paper and claim.counts_only)

    def meaning(self, score: Score) -> Meaning:
        """What a column reads. Raises Missing."""
        found = meaning(self.measured, self.paper, score)
        if found is None:
            raise Missing(f"column {score}: nothing here measures it")
        if isinstance(found, Absent):
            raise Missing(f"column {score}: {found.why}")
        return found

    def members(self, slug: str) -> tuple[str, ...]:
        """The models that a paper's row stands for; nearly always the one of that name."""
        layouts = self.paper.tables.values() if self.paper else ()
        families = [section.families for layout in layouts for section in layout.sections]
        return next((family[slug] for family in families if slug in family), (slug,))

    def is_quoted(self, slug: str) -> bool:
        """Whether the paper only quotes it and the experiment has no model of that name."""
        return self.paper is not None and slug in quoted_systems(self.paper) and slug not in self.measured.labels()

    def seeds(self, slug: str, score: Score) -> Seeds | None:
        """The seeds of which a model has all of a column's scores; None where no seed varies it. Raises Missing."""
        sets = [set(sample.by_seed()) for sample in self.samples(slug, score)]
        return frozenset(seed for seed in set.intersection(*sets) if seed is not None) if sets else None

    def leaf(self, slug: str, score: Score, seeds: Seeds) -> Quantity:
        """A model's column, of these seeds, in percent, ms, single parameters or bytes. Raises Missing."""
        found = self.meaning(score)
        if isinstance(found, Scored):
            return self._quoted(slug, score, found) if self.is_quoted(slug) else self._score(slug, found, seeds)
        return apply(mean, [self._fact(member, found) for member in self.members(slug)])

    def floor(self, score: Score, seeds: Seeds) -> Quantity:
        """The floor's value of a column of scores. Raises Missing where none was measured."""
        found = self.meaning(score)
        assert isinstance(found, Scored)
        entry = next((one for one in self.measured.entries if one.kind == "floor" and one.model in FLOORS), None)
        if entry is None:
            raise Missing(f"no floor ({' or '.join(FLOORS)}) was measured")
        value = self._mean(found, lambda reading: self._floor_reading(entry, reading))
        return self._retained(value, found, seeds) if found.over_baseline else value

    def entry(self, label: str) -> Entry:
        """The runs of a model. Raises Missing where there are none, or several that must not share a cell."""
        found = [one for one in self.measured.entries if one.model == label and one.kind == "model"]
        if not found:
            raise Missing(f"model {label}: not in this experiment")
        if len(found) > 1:
            settings = "; ".join(one.settings for one in found)
            raise Missing(f"model {label}: its runs must not share a number ({settings})")
        return found[0]

    def variant(self, slug: str) -> tuple[str, str]:
        """The model of a row and what its metrics end in: 'a50-beam10' is a50 read with ' beam=10'."""
        for layout in self.paper.tables.values() if self.paper else ():
            for variant in layout.variants:
                if variant.key and slug.endswith(variant.key) and slug not in self.measured.labels():
                    return slug.removesuffix(variant.key), variant.metric
        return slug, ""

    def sample(self, entry: Entry, reading: Reading, suffix: str = "") -> Sample:
        """What was measured of a reading. Raises Missing where no run has a value."""
        found = self.evidence.of(entry, reading.task, reading.metric + suffix, reading.split)
        if not found.by_seed():
            raise Missing(f"{entry.model} on {reading.task}: {_why_none(entry, found)}")
        return found

    def samples(self, slug: str, score: Score) -> list[Sample]:
        """Everything that a model's column stands on, the baseline's scores too where it is a ratio. Raises Missing."""
        found = self.meaning(score)
        if not isinstance(found, Scored) or self.is_quoted(slug):
            return []
        label, suffix = self.variant(slug)
        samples = [self.sample(self.entry(label), reading, suffix) for reading in found.readings]
        if found.over_baseline:
            plain = replace(score, name=score.name.removeprefix(PRR))
            samples += self.samples(self.measured.experiment.baseline, plain)
        return samples

    def _score(self, slug: str, found: Scored, seeds: Seeds) -> Quantity:
        label, suffix = self.variant(slug)
        entry = self.entry(label)
        value = self._mean(found, lambda reading: self._reading(entry, reading, seeds, suffix))
        return self._retained(value, found, seeds) if found.over_baseline else value

    def _mean(self, found: Scored, read: Callable[[Reading], Quantity]) -> Quantity:
        groups = [apply(mean, [read(reading) for reading in group]) for group in found.groups]
        return apply(lambda *values: PERCENT * mean(*values), groups)

    def _retained(self, value: Quantity, found: Scored, seeds: Seeds) -> Quantity:
        """A score over the baseline's, in percent."""
        plain = replace(found, over_baseline=False)
        baseline = self._score(self.measured.experiment.baseline, plain, seeds)
        return apply(lambda ours, theirs: PERCENT * over(ours, theirs), [value, baseline])

    def _reading(self, entry: Entry, reading: Reading, seeds: Seeds, suffix: str) -> Quantity:
        """One score in its natural range, its centre the paper's (EELBERT prints medians)."""
        sample = self.sample(entry, reading, suffix)
        by_seed = {seed: value for seed, value in sample.by_seed().items() if seed is not None and seed in seeds}
        centre = CENTRES[self.paper.statistic if self.paper else "mean"]
        if not drawable(sample.metric) or sample.missing(list(by_seed)):
            return Quantity(centre(list(by_seed.values())), by_seed)
        drawn = sample.by_draw(list(by_seed))
        return Quantity(centre(list(by_seed.values())), by_seed, drawn, {reading.task: sample.n})

    def _floor_reading(self, entry: Entry, reading: Reading) -> Quantity:
        """A floor's score; a constant prediction correlates with nothing, whatever the scorer calls that."""
        sample = self.evidence.of(entry, reading.task, reading.metric, reading.split)
        values = list(sample.by_seed().values())
        if not values and sample.scores and reading.metric in CORRELATIONS:
            return constant(0.0)
        if not values:
            raise Missing(f"no floor of {reading.task} was measured")
        if reading.metric in CORRELATIONS or not drawable(sample.metric) or sample.missing():
            return constant(values[0])
        return Quantity(values[0], None, sample.by_draw())

    def _quoted(self, slug: str, score: Score, found: Scored) -> Quantity:
        """A quoted system's printed score, on the same test set only."""
        assert self.paper is not None
        for task in dict.fromkeys(reading.task for reading in found.readings):
            why = other_test_set(self.measured, self.paper, task) if task in self.measured.tasks() else "no such task"
            if why:
                raise Missing(f"quoted {slug}: {why}")
        return constant(published_value(self.paper, slug, score))

    def _fact(self, label: str, found: Timed | Counted) -> Quantity:
        if isinstance(found, Timed):
            return self._time(label, found)
        if found.name in COSTS:
            counted = operations()  # of the papers' models at base: an experiment's own may be of another size
            if not self.exact or (label, self.length) not in counted:
                raise Missing(f"{found.name} of {label}: not counted here")
            return constant(counted[label, self.length][found.name])
        if self.exact and self.paper:
            exact = exact_value(self.paper, label, found.name)
            if exact is None:
                raise Missing(f"{found.name} of {label}: no exact count at hand")
            return constant(exact)
        fact = self.measured.fact(self.entry(label), found.name)
        if fact is None or fact.value is None:
            raise Missing(f"{found.name} of {label}: not measured")
        return constant(fact.value * (PERCENT if found.name in SHARES else 1.0))

    def _time(self, label: str, found: Timed) -> Quantity:
        runs = self.times.of(self.entry(label).model, found)
        if not runs:
            raise Missing(f"time of {label}: no efficiency run has {found.name}")
        value = Quantity(sum(runs) / len(runs), dict(enumerate(runs)))
        if not found.over_pair:
            return value
        partner = self._partner(label)
        return apply(over, [value, self._time(partner, replace(found, over_pair=False))])

    def _partner(self, label: str) -> str:
        for layout in self.paper.tables.values() if self.paper else ():
            if label in layout.pairs:
                return layout.pairs[label]
        raise Missing(f"{label}: no plain model of its size is known")


def drawable(metric: str) -> bool:
    """Whether a metric follows from the stored predictions: those of another beam are not stored.

    >>> drawable("f1"), drawable("rec@1 tenth=3"), drawable("rec@1 beam=10")
    (True, True, False)
    """
    name, _, condition = metric.partition(" ")
    return not condition or condition.startswith("tenth=")


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
