"""Two models, experiments or databases against each other: paired differences with their intervals, task by task.

Only scores on the same examples are subtracted, draw by draw of the examples, over the seeds that both sides have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.results.read.evidence import Evidence, Matched, RunSeed, Sample, draw_together
from hashbench.results.read.measured import AVERAGE, measure
from hashbench.results.read.runs import Entry
from hashbench.scores.base import metrics
from hashbench.scores.draws import DRAWS, Estimate
from hashbench.scores.quantity import difference
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint
from hashbench.store.status import experiment_names

# How the splits begin that a task has several of (mnli's matched and mismatched)
PART = "validation_"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a model, or all of an experiment (`model` None)."""

    name: str
    evidence: Evidence
    model: str | None

    @property
    def place(self) -> str:
        """Experiment and database in words: 'EXPERIMENT (DATABASE)'."""
        return f"{self.evidence.measured.experiment.name} ({self.evidence.store.name})"


@dataclass(frozen=True)
class PairedDifference:
    """The paired difference of two sides on a task. Scores are means over the matched seeds in their natural range."""

    model: str  # on both sides, where experiments are compared; else ''
    task: str  # or the column of an average: 'average', 'average_NAME'
    metric: str
    split: str
    first: float
    second: float
    difference: Estimate  # first - second
    seeds: tuple[RunSeed, ...]  # matched ones
    # Share of examples that only the first side has right, mean over seeds
    only_first: float | None = None
    only_second: float | None = None
    is_average: bool = False
    of_units: str = ""  # the units of an average, where tasks have others: 'over 2 of 4'


@dataclass(frozen=True)
class Comparison:
    """All paired differences of two sides, and the reasons why others could not be computed."""

    first: Side
    second: Side
    encoder: str
    lines: tuple[PairedDifference, ...]
    skipped: tuple[str, ...]


def compare(
    stores: Sequence[Store],
    first: str,
    second: str,
    *,
    experiment: str | None = None,
    checkpoint: Checkpoint = "best",
    draws: int = DRAWS,
) -> Comparison:
    """`first` minus `second`: two models of an experiment (None: the last), or two experiments.

    `stores`: one for both, or the first side's and the second's; then both may have the same name.

    Raises InputError where nothing can be compared, with the reason.
    """
    side_a, side_b = _sides(stores, first, second, experiment, checkpoint, draws)
    lines: list[PairedDifference] = []
    skipped: list[str] = []
    encoders = []
    for model in [side_a.model] if side_a.model else _common_models(side_a, side_b):
        try:
            entries = _entry(side_a, model), _entry(side_b, side_b.model or model)
            lines += _lines(side_a, side_b, entries, "" if side_a.model else model, skipped)
        except InputError as error:
            if side_a.model:
                raise
            # The other models may still be comparable
            skipped.append(str(error).removeprefix("compare: "))
            continue
        encoders += [entry.encoder for entry in entries if entry.encoder][:1]
    if not lines:
        more = f" (and {len(skipped) - 1} more like it)" if len(skipped) > 1 else ""
        raise InputError(f"compare: {skipped[0]}{more}")
    return Comparison(side_a, side_b, ", ".join(dict.fromkeys(encoders)), tuple(lines), tuple(skipped))


def _sides(
    stores: Sequence[Store], first: str, second: str, experiment: str | None, checkpoint: Checkpoint, draws: int
) -> tuple[Side, Side]:
    """Both sides of a comparison. Raises InputError where they are not of one kind, or the same."""
    evidences: dict[tuple[str, int], Evidence] = {}  # both sides share what was read

    def read(store: Store, name: str | None) -> Evidence:
        evidence = Evidence(store, measure(store, name, checkpoint=checkpoint), draws=draws)
        return evidences.setdefault((str(store.url), evidence.measured.experiment.id), evidence)

    names = [(stores[0], first), (stores[-1], second)]
    side_a, side_b = (_find(name, experiment, partial(read, store)) for store, name in names)
    if (side_a.model is None) != (side_b.model is None) and experiment is None:
        # A model and an experiment may share a name: with an experiment on the other side it is the experiment
        if all(name in experiment_names(store) for store, name in names):
            side_a, side_b = (Side(name, read(store, name), None) for store, name in names)
    if (side_a.model is None) != (side_b.model is None):
        raise InputError(f"compare: {first!r} and {second!r} are a model and an experiment; name two of one kind")
    if side_a.evidence is side_b.evidence and side_a.model == side_b.model:
        raise InputError(f"compare: {first!r} on both sides; name two, or the second database with another --db")
    return side_a, side_b


def _find(name: str, experiment: str | None, read: Callable[[str | None], Evidence]) -> Side:
    """The model of that name in the experiment (None: the last), else the experiment of that name."""
    evidence = read(experiment)
    store, measured = evidence.store, evidence.measured
    labels = list(dict.fromkeys(entry.model for entry in (*measured.entries, *measured.imported)))
    if name in labels:
        return Side(name, evidence, name)
    names = experiment_names(store)
    if experiment is None and (name in names or name.rpartition("@")[0] in names):
        return Side(name, read(name), None)
    near = near_match(name, list(dict.fromkeys([*labels, *names])))
    raise InputError(
        f"{store.name}: {name!r} is neither a model of experiment {measured.experiment.name!r} nor an experiment{near} "
        f"(its models: {', '.join(labels)}; of another one: compare EXPERIMENT A B)"
    )


def _common_models(side_a: Side, side_b: Side) -> list[str]:
    """The models that both experiments have, in the order of the first. Raises InputError where there is none."""
    both = {entry.model for entry in side_b.evidence.measured.entries}
    models = dict.fromkeys(entry.model for entry in side_a.evidence.measured.entries if not entry.is_baseline)
    common = [model for model in models if model in both]
    if not common:
        raise InputError(f"compare: {side_a.place} and {side_b.place} have no common model; name two models instead")
    return common


def _entry(side: Side, model: str) -> Entry:
    """The runs of a model. Raises InputError where they differ in settings, so that no mean over them is allowed."""
    measured = side.evidence.measured
    entries = [entry for entry in (*measured.entries, *measured.imported) if entry.model == model]
    if len(entries) > 1:
        settings = "; ".join(entry.settings for entry in entries)
        raise InputError(f"compare: {model} in {side.place} was measured under several settings ({settings})")
    return entries[0]


def _lines(
    side_a: Side, side_b: Side, entries: tuple[Entry, Entry], model: str, skipped: list[str]
) -> list[PairedDifference]:
    """The paired differences on each common task, averages last. Reasons for omissions are appended to `skipped`."""
    a, b = entries
    names = f"{a.model} and {b.model}" if a.model != b.model else f"{a.model} in {side_a.place} and {side_b.place}"
    if a.encoder != b.encoder and not (a.is_imported or b.is_imported):
        raise InputError(f"compare: {names} have other encoders, {a.encoder} and {b.encoder}; compare at one size")
    tasks = [task for task in side_a.evidence.measured.tasks() if a.of_task(task) and b.of_task(task)]
    if not tasks:
        raise InputError(f"compare: {names} have no common task")
    further = side_a.evidence.measured.further_sets()
    lines: list[PairedDifference] = []
    averaged: dict[str, tuple[Sample, Sample]] = {}
    for task in tasks:
        samples = _samples(side_a.evidence, a, task)
        if not samples:
            skipped.append(f"{a.model} on {task} in {side_a.place}: no score; see hashbench status")
        for x in samples:
            y = side_b.evidence.of(b, task, x.metric, x.split)
            if why := unlike(x, y):
                skipped.append(why)
            else:
                lines.append(_paired(x, y, model))
                averaged |= {task: (x, y)} if x is samples[0] and task not in further else {}
    for name, members in _averages(side_a, side_b, averaged).items():
        pairs = [averaged[task] for task in members]
        every = [sample for both in pairs for sample in both]
        matched = Matched.of(every)
        if why := matched.lacking(every):
            skipped.append(f"{name} of {names}: {why}")
        else:
            lines.append(_average(name, pairs, matched, model))
    return lines


def _averages(side_a: Side, side_b: Side, compared: Collection[str]) -> dict[str, Sequence[str]]:
    """The tasks of each average by its column: of all compared tasks, then of those that both experiments name.

    A named average of which a task was not compared is left out: the reason for the task is given.
    """
    of_a, of_b = (side.evidence.measured.experiment.averages for side in (side_a, side_b))
    named = {f"{AVERAGE}_{name}": tasks for name, tasks in of_a.items() if set(tasks) == set(of_b.get(name, ()))}
    every: dict[str, Sequence[str]] = {AVERAGE: tuple(compared)} | named
    return {name: tasks for name, tasks in every.items() if len(tasks) > 1 and all(task in compared for task in tasks)}


def _samples(evidence: Evidence, entry: Entry, task: str) -> list[Sample]:
    """The scores of the task's reported metric on the reported split, then on further parts such as MNLI's second."""
    sample = evidence.own(entry, task)
    if sample is None:
        return []
    splits = {score.split for run in entry.of_task(task) for score in evidence.measured.scores_of(run)}
    parts = sorted(split for split in splits if split.startswith(PART)) if sample.split.startswith(PART) else []
    further = [split for split in parts if split != sample.split]
    return [sample, *(evidence.of(entry, task, sample.metric, split) for split in further)]


def unlike(x: Sample, y: Sample) -> str:
    """The reason that two samples cannot be subtracted, or ''."""
    seeds = Matched.of([x, y]).seeds[x.task]
    for sample in (x, y):
        if why := sample.missing(_seeds_of(sample, seeds) if seeds else None):
            return why
    what = f"{x.entry.model} and {y.entry.model} on {x.task}"
    if not seeds:
        return f"{what}: no common seed ({_listed(x.by_seed())} and {_listed(y.by_seed())})"
    if {score.run.run_id for score in x.scores.values()} & {score.run.run_id for score in y.scores.values()}:
        return f"{what}: the same runs stand on both sides"
    trained = not any(sample.entry.is_baseline or sample.entry.is_imported for sample in (x, y))
    if trained and _precisions(x) != _precisions(y):
        return f"{what}: other precisions, {_precisions(x)} and {_precisions(y)}"
    if x.data != y.data:
        return f"{what}: measured on other data (fingerprints {x.data[:8]} and {y.data[:8]})"
    if x.fingerprint != y.fingerprint or not np.array_equal(x.targets, y.targets):
        return f"{what}: not measured on the same examples ({x.n:,} and {y.n:,} rows of {x.split}, other row ids)"
    return ""


def _precisions(sample: Sample) -> str:
    """The precisions that runs were measured in."""
    return ", ".join(sorted({score.run.precision for score in sample.scores.values()}))


def _listed(seeds: dict[RunSeed, float]) -> str:
    return ", ".join(str(seed) for seed in seeds) or "none"


def _seeds_of(sample: Sample, seeds: Sequence[RunSeed]) -> list[RunSeed]:
    """The matched seeds as the sample's keys: None for each seed if the sample is a trivial baseline's."""
    return [None if None in sample.scores else seed for seed in seeds]


def _paired(x: Sample, y: Sample, model: str) -> PairedDifference:
    """The difference of two samples of the same examples."""
    draw_together([x, y])
    matched = Matched.of([x, y])
    first, second = matched.quantity(x), matched.quantity(y)
    seeds = matched.seeds[x.task]
    rights = [
        (right_ones(x, a), right_ones(y, b)) for a, b in zip(*(_seeds_of(of, seeds) for of in (x, y)), strict=True)
    ]
    only = [(float((a & ~b).mean()), float((b & ~a).mean())) for a, b in rights if a is not None and b is not None]
    return PairedDifference(
        model, x.task, x.metric, x.split, first.value, second.value, difference(first, second).estimate(),
        tuple(seeds),
        float(np.mean([a for a, _ in only])) if only else None,
        float(np.mean([b for _, b in only])) if only else None,
    )  # fmt: skip


def right_ones(sample: Sample, seed: RunSeed) -> np.ndarray | None:
    """True for each example (n,) that a seed's model has right; None for metrics without right and wrong answers."""
    metric = metrics().get(sample.metric)
    return metric.right(sample.targets, sample.outputs(seed)) if metric else None


def _average(name: str, pairs: Sequence[tuple[Sample, Sample]], matched: Matched, model: str) -> PairedDifference:
    """The difference of unweighted means over tasks, each over the units that have all tasks."""
    share = 1 / len(pairs)
    first, second = (matched.sum([(share, pair[side]) for pair in pairs]) for side in (0, 1))
    seeds = dict.fromkeys(seed for pair in pairs for seed in matched.seeds[pair[0].task])
    return PairedDifference(
        model, name, f"{len(pairs)} tasks", "", first.value, second.value, difference(first, second).estimate(),
        tuple(seeds),
        is_average=True,
        of_units=matched.fewer(),
    )  # fmt: skip
