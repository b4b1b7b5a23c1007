"""Runs as the store has them, with their scores, and the entries that group the runs of a model."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Final, TypeVar

from hashbench.common.measured import TRAIN_ROWS, TextsRead
from hashbench.store.kinds import Metrics, metrics_of

# Stored names of the kinds of run that readers treat differently. No other file in results names a kind of run.
BASELINE: Final = "floor"
PRETRAINING: Final = "pretrain"
EFFICIENCY: Final = "efficiency"
ROBUSTNESS: Final = "robustness"
BASELINE_RUN: Final = "baseline_run"  # in the spec of a robustness run: the trivial baseline that it evaluates
EVALUATION: Final = "evaluation"
FURTHER_BASELINE: Final = "evaluation-floor"
PAIRS: Final = "evaluation-pairs"
IMPORTED: Final = "evaluation-imported"  # predictions of another program
IMPORTED_MARK = " (imported)"  # behind their name in tables
LENGTH = "max_length"  # of a recipe: a number, or a request that each training resolves
EncoderAndStart = tuple[str, bool]  # kind of encoder, whether it was pre-trained
SCRATCH = "from scratch"  # how a table marks random weights in the place of published ones


@dataclass(frozen=True)
class RunOrigin:
    """Code, machine, packages and notes of a finished run."""

    git_commit: str = ""
    git_tree: str = ""  # of the package in that commit, the same after a rebase; "" where it was not stored
    has_diff: bool = False
    hardware: str = ""
    packages: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # printed under tables, by topic
    seconds: float = 0.0
    finished_at: float | None = None

    def code(self, letters: int | None = None) -> str:
        """The code's version in words: commit, tree of the package, and uncommitted changes; ids cut after `letters`.

        A release is named in full.
        """
        commit = self.git_commit if " " in self.git_commit else self.git_commit[:letters] or "unknown"
        tree = f" (tree {self.git_tree[:letters]})" if self.git_tree else ""
        return commit + tree + (" with uncommitted changes" if self.has_diff else "")


UNFINISHED = RunOrigin()


@dataclass(frozen=True)
class MeasuredRun:
    """A run of the experiment under one label, finished or not."""

    run_id: str
    kind: str  # as the sweep stored it
    model: str
    task: str | None
    seed: int | None
    encoder: str
    spec: dict[str, Any]  # JSON: what the run was to do
    state: str
    reason: str
    fingerprint: str
    metric: str  # the one that the experiment reads; '' where it reads none
    origin: RunOrigin
    metrics: Metrics = "training"  # the meaning of its kind's metrics
    # What was drawn independently: the seed of its pre-training, where its model has several, else its own
    unit: int | str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(model label, run id), unique in an experiment, which may have one run under several labels."""
        return (self.model, self.run_id)

    @property
    def setting(self) -> tuple[object, ...]:
        """Equal for runs that differ only in seed and result. Their specs share parts, so `id()` is enough."""
        parts = (id(part) for name, part in self.spec.items() if name != "seed")
        of_run = (self.kind, self.model, self.task, self.encoder, self.state, self.metric, self.fingerprint)
        return (*of_run, id(self.origin.notes), *parts)

    @property
    def is_baseline(self) -> bool:
        """True for a trivial baseline, which is no model, on texts as they are or on noisy ones."""
        return self.kind in (BASELINE, FURTHER_BASELINE) or BASELINE_RUN in self.spec

    @property
    def is_pretraining(self) -> bool:
        """True for a pre-training."""
        return self.kind == PRETRAINING

    @property
    def measures_time(self) -> bool:
        """True where it measures the time and memory of a model."""
        return self.kind == EFFICIENCY

    @property
    def is_imported(self) -> bool:
        """True where it holds predictions of another program, which tables and `compare` alone read."""
        return self.kind == IMPORTED

    @property
    def is_scored(self) -> bool:
        """True where it has a model's scores on a task: a training, or an evaluation of one on a further set."""
        return self.task is not None and self.kind not in (BASELINE, FURTHER_BASELINE) and self.metrics != "none"

    @property
    def is_evaluation(self) -> bool:
        """True where it evaluates a training on a further set, or a pre-training, and is no training itself."""
        return self.is_scored and self.metrics == "evaluation"

    @property
    def is_untuned(self) -> bool:
        """True where it scores a pre-trained model without fine-tuning; its seed is the pre-training's."""
        return self.kind == PAIRS

    @cached_property
    def precision(self) -> str:
        """The precision that the worker noted, else the requested one; '' for a trivial baseline."""
        requested = str(self.spec["finetune"]["precision"]) if "finetune" in self.spec and self.is_scored else ""
        return dict(self.origin.notes).get("precision_found", requested)

    def block(self, name: str) -> Mapping[str, Any]:
        """A block of its spec, such as 'finetune', with precision and length that were used in place of requests."""
        block: Mapping[str, Any] = self.spec[name]
        noted = dict(self.origin.notes).get("precision_found")
        used: dict[str, Any] = {"precision": noted} if noted and "precision" in block else {}
        if isinstance(limit := block.get(LENGTH), Mapping):  # the length that keeps a share of the tokens of train
            used[LENGTH] = limit["at_most"] if self.texts_read is None else self.texts_read.max_length
        return {**block, **used} if used else block

    @cached_property
    def texts_read(self) -> TextsRead | None:
        """How much of its texts it read, by split; None where it was stored without."""
        return _texts_read(self.origin.notes)

    @property
    def traits(self) -> dict[str, str]:
        """Properties by which its task may be grouped, such as language and script."""
        traits: dict[str, str] = self.spec.get("settings", {}).get("traits", {})
        return traits

    @property
    def weights(self) -> Any:
        """{"sha256": ...} for published weights, "random" for random ones in their place, None for other models."""
        return self.spec.get("model", {}).get("weights")

    @property
    def from_scratch(self) -> bool:
        """True where it started from random weights although its model has published ones."""
        return self.weights == "random"


@cache
def _texts_read(notes: tuple[tuple[str, str], ...]) -> TextsRead | None:
    """The counts among notes, cached, since runs that differ only in their seed have equal ones."""
    return TextsRead.of_notes(dict(notes))


def encoder_and_start(spec: Mapping[str, Any]) -> EncoderAndStart:
    """The kind of encoder in a run's spec, and whether the model was pre-trained, here or by who published its weights.

    Imported predictions and trivial baselines have no encoder.
    """
    model = spec.get("model", {})
    kind = str(model.get("encoder", {}).get("kind", ""))
    return kind, bool(model.get("objective")) or isinstance(model.get("weights"), Mapping)


@dataclass(frozen=True)
class SeedScore:
    """One score of one run, in its natural range; `value` is None where it is undefined, which `reason` explains."""

    run: MeasuredRun
    metric: str
    split: str
    own: bool
    value: float | None
    reason: str


@cache
def _parsed(text: str) -> dict[str, Any]:
    """The parsed JSON text, cached, since many runs share it."""
    spec: dict[str, Any] = json.loads(text)
    return spec


def spec_of(text: str, seed: int | None) -> dict[str, Any]:
    """A run's spec from its JSON and its seed. Do not change it: runs that differ only in the seed share its parts.

    Thus the specs of 20,000 runs fit memory and are read seven times as fast as by parsing each.

    >>> spec_of('{"kind":"finetune","model":{"coder":{"seed":3}},"seed":3,"task":"cola"}', 3)["seed"]
    3
    """
    start, own_seed, end = text.rpartition(f'"seed":{seed},')
    if own_seed:
        shared = _parsed(f'{start}"seed":null,{end}')
        if shared.get("seed", 0) is None:  # else the seed of its coder was the last in the text
            return shared | {"seed": seed}
    return _parsed(text)


@cache
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Packages or notes as sorted pairs, parsed from JSON and cached, since most runs have equal ones."""
    return tuple(sorted(json.loads(text).items()))


def run_of(
    row: Sequence[Any], reason: str, origin: RunOrigin | None, kinds: Mapping[str, str], unit: int | str | None
) -> MeasuredRun:
    """The run of a row of queries.RUNS, with its origin (None: not finished) and unit.

    `kinds`: what is stored of the metrics of kinds.
    """
    model, run_id, kind, task, seed, encoder, spec, state, fingerprint, metric, _ = row
    return MeasuredRun(
        run_id, kind, model, task, seed, encoder, spec_of(spec, seed), state, reason, fingerprint or "",
        metric or "", origin or UNFINISHED, metrics_of(kind, kinds), unit,
    )  # fmt: skip


def environment_of(row: Sequence[Any]) -> RunOrigin:
    """The origin of runs in a row of queries.ENVIRONMENTS, still without their notes and times."""
    _, commit, tree, has_diff, hardware, packages = row
    return RunOrigin(commit or "", tree or "", bool(has_diff), hardware or "", _pairs(packages or "{}"))


def origin_of(row: Sequence[Any], environments: Mapping[str, RunOrigin]) -> RunOrigin:
    """The origin of the run in a row of queries.ORIGINS, completed from its environment."""
    _, environment, notes, seconds, finished_at = row
    return replace(
        environments.get(environment, UNFINISHED),
        notes=_pairs(notes or "{}"),
        seconds=seconds or 0.0,
        finished_at=finished_at,
    )


GroupKey = TypeVar("GroupKey", bound=Hashable)
Grouped = TypeVar("Grouped")


@dataclass(frozen=True)
class Entry:
    """The runs of a model with one encoder, precision and data, which may be averaged: a row of a table."""

    model: str
    is_baseline: bool  # trivial, no model
    encoder: str
    # Its difference from other entries of the model, and 'from scratch' where it is; '' for neither
    settings: str
    runs: tuple[MeasuredRun, ...]  # trainings on a task, or of a trivial baseline
    title: str  # heading of its rows: the model, unless a trivial baseline has the same name

    def of_task(self, task: str) -> list[MeasuredRun]:
        """Its runs of one task, finished or not."""
        return list(self._by_task.get(task, ()))

    @property
    def is_imported(self) -> bool:
        """True where its runs hold predictions of another program."""
        return any(run.is_imported for run in self.runs)

    @cached_property
    def _by_task(self) -> dict[str | None, list[MeasuredRun]]:
        return grouped((run.task, run) for run in self.runs)

    @property
    def train_rows(self) -> int | None:
        """The number of rows of train that each of its seeds draws; None where it has all of them."""
        return next((run.spec[TRAIN_ROWS] for run in self.runs if TRAIN_ROWS in run.spec), None)

    @property
    def is_fixed(self) -> bool:
        """True where nothing is random: of a trivial baseline that learns from all rows of train."""
        return self.is_baseline and all(run.seed is None for run in self.runs)

    def shares_data(self, other: Entry) -> bool:
        """True where both were measured on the same data, at one precision, in all tasks that both have."""
        first, second = (
            {(run.task, run.precision, run.fingerprint) for run in entry.runs if run.state == "done"}
            for entry in (self, other)
        )
        both = {task for task, _, _ in first} & {task for task, _, _ in second}
        return {key for key in first if key[0] in both} == {key for key in second if key[0] in both}

    def group(self, tasks: Sequence[str]) -> str:
        """A key that is equal for comparable cells, of one encoder, precision, data and number of train rows."""
        return "|".join(sorted(set().union(*(self._groups.get(task, ()) for task in tasks))))

    @cached_property
    def _groups(self) -> dict[str | None, set[str]]:
        """'ENCODER PRECISION FINGERPRINT' of the runs, by task; several where the runs of a task differ.

        Behind the fingerprint is the number of train rows, where it is not all.
        """
        by_task: dict[str | None, set[str]] = {}
        for task, runs in self._by_task.items():
            scored = [run for run in runs if run.is_scored or run.is_baseline]
            rows = [f"@{run.spec[TRAIN_ROWS]}" if TRAIN_ROWS in run.spec else "" for run in scored]
            by_task[task] = {
                f"{run.encoder} {run.precision} {run.fingerprint}{drawn}"
                for run, drawn in zip(scored, rows, strict=True)
            }
        return by_task


def entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The table rows of an experiment: one a model, or several where encoder, precision or data of its runs differ.

    Trivial baselines are behind the models, and in both those on fewer rows of train behind those on all.
    """
    by_model = grouped((run.model, run) for run in runs)
    rows: list[Entry] = []
    for name, members in by_model.items():
        if all(run.is_baseline for run in members):
            continue
        scored = without_apart(members)
        if not scored:  # pre-trained or timed only
            rows.append(Entry(name, False, members[0].encoder, "", (), name))
        rows.extend(_entries_of(name, scored))
        # No new experiment has such a model; stored ones may
        if any(run.is_baseline for run in members):
            rows = [replace(row, title=f"{name} (model)") if row.model == name else row for row in rows]
    for name in dict.fromkeys(run.model for run in runs if run.is_baseline):
        rows.extend(_entries_of(name, [run for run in by_model[name] if run.is_baseline and run.kind != ROBUSTNESS]))
    return sorted(rows, key=lambda row: (row.is_baseline, row.train_rows or 0))


def without_apart(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The scored runs of one label, without evaluations on a task that it is trained on: they are no more seeds."""
    scored = [run for run in runs if run.is_scored]
    trained = {run.task for run in scored if not run.is_evaluation}
    return [run for run in scored if not (run.is_evaluation and run.task in trained)]


def imported_entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """An entry for each name under which predictions of other programs were imported."""
    by_name = grouped((run.model, run) for run in runs if run.state == "done")
    return [Entry(name, False, "", "", tuple(of), f"{name}{IMPORTED_MARK}") for name, of in by_name.items()]


def grouped(pairs: Iterable[tuple[GroupKey, Grouped]]) -> dict[GroupKey, list[Grouped]]:
    """The members of each key, both in the order in which they come.

    >>> grouped([("words", "a"), ("pieces", "b"), ("words", "c")])
    {'words': ['a', 'c'], 'pieces': ['b']}
    """
    groups: dict[GroupKey, list[Grouped]] = {}
    for key, member in pairs:
        groups.setdefault(key, []).append(member)
    return groups


def _entries_of(name: str, runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The entries of one model: its runs grouped by encoder, by data, and by precision where a task has several.

    A trivial baseline has no encoder: its run may have been made for an experiment of another size.
    """
    parts: dict[tuple[str, str, int], list[MeasuredRun]] = {}
    seen: dict[tuple[str, str, str | None], list[str]] = {}  # data of a task, in the order met
    done = [run for run in runs if run.state == "done"]
    by_task = grouped((run.task, run) for run in done or runs)
    apart = any(len({run.precision for run in of_task}) > 1 for of_task in by_task.values())
    for run in done or runs:
        encoder = "" if run.is_baseline else run.encoder
        precision = run.precision if apart else ""
        versions = seen.setdefault((encoder, precision, run.task), [])
        if run.fingerprint not in versions:
            versions.append(run.fingerprint)
        parts.setdefault((encoder, precision, versions.index(run.fingerprint)), []).append(run)
    # How an open run will be made is not known yet: the first part misses it
    if done and len(done) < len(runs):
        next(iter(parts.values())).extend(run for run in runs if run.state != "done")
    return [
        Entry(name, members[0].is_baseline, members[0].encoder, _settings(key, parts), tuple(members), name)
        for key, members in parts.items()
    ]


def _settings(key: tuple[str, str, int], parts: dict[tuple[str, str, int], list[MeasuredRun]]) -> str:
    """The settings in which one part of a model's runs differs from the others, and 'from scratch' where it is."""
    words = [SCRATCH] if any(run.from_scratch for run in parts[key]) else []
    if len({encoder for encoder, _, _ in parts}) > 1:
        words.append(key[0])
    if len({precision for _, precision, _ in parts}) > 1:
        words.append(f"precision {key[1]}")
    if len({index for _, _, index in parts}) > 1:
        words.append(f"data {parts[key][0].fingerprint[:8]}")
    return ", ".join(words)
