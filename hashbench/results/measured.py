"""What an experiment measured, read once from the store: runs, scores of every seed, parameters and times.

Runs of one model are kept apart where they must not share a cell: other encoder, other precision, other data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hashbench.results import queries
from hashbench.store.engine import Store
from hashbench.store.status import StoredExperiment, find_experiment

SCRATCH = "from scratch"  # how a table marks random weights in the place of published ones

Spec = dict[str, Any]  # JSON: what was asked of a run
Scores = dict[tuple[str, str], list["Seeded"]]  # by (label, run id)


@dataclass(frozen=True)
class Origin:
    """Under which circumstances a run was finished."""

    git_commit: str = ""
    has_diff: bool = False
    hardware: str = ""
    packages: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # what a table must say about the run, by topic
    seconds: float = 0.0
    finished_at: float | None = None


@dataclass(frozen=True)
class MeasuredRun:
    """A run of the experiment under one label, finished or not."""

    run_id: str
    kind: str  # as the sweep stored it
    model: str
    task: str | None
    seed: int | None
    encoder: str
    spec: Spec
    state: str
    reason: str
    fingerprint: str
    origin: Origin

    @property
    def is_scored(self) -> bool:
        """Whether it is a training on a task. A trivial baseline is none, nor is what measures a trained model."""
        return self.task is not None and self.kind not in ("floor", "robustness", "efficiency")

    @property
    def precision(self) -> str:
        """As found where the worker noted it, else as asked; '' for a trivial baseline."""
        for topic, text in self.origin.notes:
            if topic == "precision_found":
                return text
        return str(self.spec["finetune"]["precision"]) if "finetune" in self.spec and self.is_scored else ""


@dataclass(frozen=True)
class Seeded:
    """One score of one run, in its natural range; None with a reason where it is undefined."""

    run: MeasuredRun
    metric: str
    split: str
    own: bool
    value: float | None
    reason: str


@dataclass(frozen=True)
class Entry:
    """What one row of a table speaks of: a model's runs that may share a cell."""

    model: str
    kind: Literal["model", "floor"]
    encoder: str
    settings: str  # what tells it from other entries of the model, and whether it is from scratch; '' for neither
    runs: tuple[MeasuredRun, ...]  # fine-tunings or floors

    def of_task(self, task: str) -> list[MeasuredRun]:
        """Its runs of one task, finished or not."""
        return [run for run in self.runs if run.task == task]

    def shares_data(self, other: Entry) -> bool:
        """Whether both were measured on the same data, at one precision, in all tasks that both have."""
        ours, theirs = (
            {(run.task, run.precision, run.fingerprint) for run in entry.runs if run.state == "done"}
            for entry in (self, other)
        )
        both = {task for task, _, _ in ours} & {task for task, _, _ in theirs}
        return {one for one in ours if one[0] in both} == {one for one in theirs if one[0] in both}

    def group(self, tasks: Sequence[str]) -> str:
        """Equal for cells that may be compared: same encoder, precision and data."""
        runs = [run for run in self.runs if run.task in tasks and run.is_scored]
        return "|".join(sorted({f"{run.encoder} {run.precision} {run.fingerprint}" for run in runs}))


@dataclass(frozen=True)
class Fact:
    """A measured number of a model that no seed varies: parameters, shares, times."""

    value: float | None
    value_high: float | None = None


@dataclass(frozen=True)
class Ratio:
    """A score over the baseline's, or an average over the average of `n_tasks` tasks; None: baseline not above 0."""

    value: float | None
    n_tasks: int


@dataclass(frozen=True)
class Measured:
    """Everything that tables are made from."""

    experiment: StoredExperiment
    checkpoint: str
    runs: tuple[MeasuredRun, ...]
    entries: tuple[Entry, ...]  # in the experiment's order, floors last
    scores: dict[tuple[str, str], tuple[Seeded, ...]]  # by (label, run id)
    perturbed: dict[tuple[str, str], tuple[Seeded, ...]]  # the same, metrics named 'rec@1 beam=10'
    facts: dict[tuple[str, str, str], Fact]  # by (model, encoder, column or stored name)
    n_examples: dict[tuple[str, str, str], int]  # stored predictions by (run id, task, split)
    query: Callable[..., Sequence[Any]]

    def tasks(self) -> list[str]:
        """The tasks of the experiment, in its order."""
        return list(dict.fromkeys(run.task for run in self.runs if run.task is not None))

    def own(self, entry: Entry, task: str) -> list[Seeded]:
        """The scores that the experiment itself reads, one a finished run."""
        return [score for run in entry.of_task(task) for score in self._of(run) if score.own]

    def read(self, entry: Entry, task: str, metric: str, split: str) -> list[Seeded]:
        """The scores of one metric on one split, one a finished run."""
        keys = [(run.model, run.run_id) for run in entry.of_task(task)]
        scores = [one for key in keys for kind in (self.scores, self.perturbed) if key in kind for one in kind[key]]
        return [score for score in scores if (score.metric, score.split) == (metric, split)]

    def _of(self, run: MeasuredRun) -> tuple[Seeded, ...]:
        return self.scores.get((run.model, run.run_id), ())

    def ratios(self, paper: str) -> dict[tuple[str, str, str], Ratio]:
        """PRR by (model, encoder, task or 'average'), as the store's view forms it."""
        rows = self.query(queries.RATIOS, experiment=self.experiment.id, paper=paper, checkpoint=self.checkpoint)
        return {(row["model"], row["encoder"], row["task"]): Ratio(row["value"], row["n_tasks"]) for row in rows}

    def chosen_rates(self) -> list[float]:
        """The learning rates that fine-tunings chose from a grid, one a run."""
        return [row["value"] for row in self.query(queries.CHOSEN, experiment=self.experiment.id)]

    def readings(self, paper: str) -> dict[str, tuple[str, str]]:
        """Task -> (metric, split) that a paper reads."""
        return {row["task"]: (row["metric"], row["split"]) for row in self.query(queries.READINGS, paper=paper)}

    def fact(self, entry: Entry, name: str) -> Fact | None:
        """A fact of a model by its stored name or by its column in the views; None where it was not measured."""
        key = (entry.model, entry.encoder, name)
        return self.facts[key] if key in self.facts else None

    def find_entry(self, model: str) -> Entry | None:
        """The runs of a model where they may share a cell; None where there are none, or several settings."""
        found = [entry for entry in self.entries if entry.model == model and entry.kind == "model"]
        return found[0] if len(found) == 1 else None

    def tasks_with(self, metric: str, split: str) -> list[str]:
        """The tasks of which a score of this metric and split is stored, in the experiment's order."""
        scores = [score for found in (*self.scores.values(), *self.perturbed.values()) for score in found]
        having = {score.run.task for score in scores if (score.metric, score.split) == (metric, split)}
        return [task for task in self.tasks() if task in having]

    def has_one_entry(self, model: str) -> bool:
        """Whether all runs of a model may share a cell; the views that form ratios do not tell runs apart."""
        return sum(entry.model == model for entry in self.entries) == 1

    def labels(self) -> set[str]:
        """The labels of all models of the experiment, floors left out."""
        return {run.model for run in self.runs if run.kind != "floor"}


def measure(store: Store, name: str | None = None, *, checkpoint: str = "best") -> Measured:
    """What the experiment of that name (None: the last that was swept) measured so far."""
    experiment = find_experiment(store, name)
    key = {"experiment": experiment.id}
    origins = {row["run_id"]: _origin(row) for row in store.query(queries.ORIGINS, **key)}
    runs = tuple(_run(row, origins) for row in store.query(queries.RUNS, **key))
    by_key = {(run.model, run.run_id): run for run in runs}
    scores: Scores = {}
    for row in store.query(queries.SCORES, **key, checkpoint=checkpoint):
        _add(scores, by_key, row, row["metric"], own=bool(row["own"]))
    perturbed: Scores = {}
    for row in store.query(queries.PERTURBED, **key):
        _add(perturbed, by_key, row, f"{row['metric']} {row['condition']}", own=False)
    facts = {
        (row["model"], row["encoder"], row["column_name"]): Fact(row["value"], row["value_high"])
        for query in (queries.FACTS, queries.COSTS)  # what the views form of facts stands for a fact of its name
        for row in store.query(query, **key)
    }
    return Measured(
        experiment=experiment,
        checkpoint=checkpoint,
        runs=runs,
        entries=tuple(entries(runs)),
        scores={name: tuple(values) for name, values in scores.items()},
        perturbed={name: tuple(values) for name, values in perturbed.items()},
        facts=facts,
        n_examples=_n_examples(store, experiment.id, checkpoint),
        query=store.query,
    )


def _add(scores: Scores, runs: Mapping[tuple[str, str], MeasuredRun], row: Any, metric: str, *, own: bool) -> None:
    """Puts the score of a row with those of its run."""
    run = runs[row["model"], row["run_id"]]
    score = Seeded(run, metric, row["split"], own, row["value"], row["reason"] or "")
    scores.setdefault((run.model, run.run_id), []).append(score)


def _n_examples(store: Store, experiment: int, checkpoint: str) -> dict[tuple[str, str, str], int]:
    rows = store.query(queries.EXAMPLES, experiment=experiment, checkpoint=checkpoint)
    return {(row["run_id"], row["task"], row["split"]): row["n"] for row in rows}


def entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The rows that runs may be put in: one a model, more where encoder, precision or data differ."""
    labels = list(dict.fromkeys(run.model for run in runs if run.kind != "floor"))
    floors = list(dict.fromkeys(run.model for run in runs if run.kind == "floor"))
    found: list[Entry] = []
    for name in labels:
        scored = [run for run in runs if run.model == name and run.is_scored]
        if not scored:  # pre-trained or timed only
            encoder = next(run.encoder for run in runs if run.model == name)
            found.append(Entry(name, "model", encoder, "", ()))
        found.extend(_entries_of(name, "model", scored))
    for name in floors:
        found.extend(_entries_of(name, "floor", [run for run in runs if run.model == name and run.kind == "floor"]))
    return found


def _entries_of(name: str, kind: Literal["model", "floor"], runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The entries of one model: its runs by (encoder, precision), then by the data of each task."""
    parts: dict[tuple[str, str, int], list[MeasuredRun]] = {}
    seen: dict[tuple[str, str, str | None], list[str]] = {}  # data of a task, in the order met
    done = [run for run in runs if run.state == "done"]
    for run in done or runs:
        known = seen.setdefault((run.encoder, run.precision, run.task), [])
        if run.fingerprint not in known:
            known.append(run.fingerprint)
        parts.setdefault((run.encoder, run.precision, known.index(run.fingerprint)), []).append(run)
    if done and len(done) < len(runs):  # how an open run will be made is not known yet: the first part misses it
        next(iter(parts.values())).extend(run for run in runs if run.state != "done")
    return [Entry(name, kind, key[0], _settings(key, parts), tuple(members)) for key, members in parts.items()]


def _settings(key: tuple[str, str, int], parts: dict[tuple[str, str, int], list[MeasuredRun]]) -> str:
    """What tells one part of a model's runs from the others, and whether it is from scratch."""
    words = [SCRATCH] if any(from_scratch(run.spec) for run in parts[key]) else []
    if len({encoder for encoder, _, _ in parts}) > 1:
        words.append(key[0])
    if len({precision for _, precision, _ in parts}) > 1:
        words.append(f"precision {key[1]}")
    if len({index for _, _, index in parts}) > 1:
        words.append(f"data {parts[key][0].fingerprint[:8]}")
    return ", ".join(words)


def _run(row: Any, origins: dict[str, Origin]) -> MeasuredRun:
    return MeasuredRun(
        run_id=row["run_id"],
        kind=row["kind"],
        model=row["model"],
        task=row["task"],
        seed=row["seed"],
        encoder=row["encoder"],
        spec=json.loads(row["spec"]),
        state=row["state"],
        reason=row["reason"] or "",
        fingerprint=row["data_fingerprint"] or "",
        origin=origins[row["run_id"]] if row["run_id"] in origins else Origin(),
    )


def _origin(row: Any) -> Origin:
    return Origin(
        git_commit=row["git_commit"] or "",
        has_diff=bool(row["has_diff"]),
        hardware=row["hardware_name"] or "",
        packages=tuple(sorted(json.loads(row["packages"] or "{}").items())),
        notes=tuple(sorted(json.loads(row["notes"] or "{}").items())),
        seconds=row["seconds"] or 0.0,
        finished_at=row["finished_at"],
    )


def published_weights(spec: dict[str, Any]) -> Any:
    """{"sha256": ...} of a run's spec, "random" for none in their place, or None: the model has no published ones."""
    model = spec["model"] if "model" in spec else {}
    return model["weights"] if "weights" in model else None


def from_scratch(spec: dict[str, Any]) -> bool:
    """Whether a run started from random weights although its model has published ones."""
    return published_weights(spec) == "random"
