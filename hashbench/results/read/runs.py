"""A run as the store knows it and what it scored: the smallest pieces of the read model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, TypeVar

# Stored names of the kinds of run that readers tell apart. No other file of theirs names a kind of run.
BASELINE: Final = "floor"

PRETRAINING: Final = "pretrain"

EFFICIENCY: Final = "efficiency"

ROBUSTNESS: Final = "robustness"

EVALUATION: Final = "evaluation"

FURTHER_BASELINE: Final = "evaluation-floor"

SCRATCH = "from scratch"  # how a table marks random weights in the place of published ones


@dataclass(frozen=True)
class RunOrigin:
    """Under which circumstances a run was finished."""

    git_commit: str = ""
    git_tree: str = ""  # of the package in that commit, the same after a rebase; "" where it was not stored
    has_diff: bool = False
    hardware: str = ""
    packages: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # what a table must say about the run, by topic
    seconds: float = 0.0
    finished_at: float | None = None

    def code(self, letters: int | None = None) -> str:
        """Commit, tree of the package in it and whether the checkout had changes; ids cut after `letters`.

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
    metric: str  # that the experiment reads; '' where it reads none
    origin: RunOrigin

    @property
    def key(self) -> tuple[str, str]:
        """Its label and id: one run may stand under several labels."""
        return (self.model, self.run_id)

    @property
    def is_baseline(self) -> bool:
        """Whether it is a trivial baseline, which is no model."""
        return self.kind in (BASELINE, FURTHER_BASELINE)

    @property
    def is_pretraining(self) -> bool:
        """Whether it is a pre-training."""
        return self.kind == PRETRAINING

    @property
    def measures_time(self) -> bool:
        """Whether it measures the time and memory of a model."""
        return self.kind == EFFICIENCY

    @property
    def is_scored(self) -> bool:
        """Whether it has a model's scores on a task: a training, or an evaluation of one on a further set."""
        return self.task is not None and self.kind not in (BASELINE, FURTHER_BASELINE, ROBUSTNESS, EFFICIENCY)

    @property
    def is_evaluation(self) -> bool:
        """Whether it evaluates a training on a further set, and is none itself."""
        return self.kind == EVALUATION

    @cached_property
    def precision(self) -> str:
        """As found where the worker noted it, else as asked; '' for a trivial baseline."""
        requested = str(self.spec["finetune"]["precision"]) if "finetune" in self.spec and self.is_scored else ""
        return dict(self.origin.notes).get("precision_found", requested)

    def block(self, name: str) -> Mapping[str, Any]:
        """A block of its spec ('finetune'), with the precision that was found in place of the one asked for."""
        asked: Mapping[str, Any] = self.spec[name]
        found = dict(self.origin.notes).get("precision_found")
        return {**asked, "precision": found} if found and "precision" in asked else asked

    @property
    def traits(self) -> dict[str, str]:
        """What its task may be grouped by, as its language and script."""
        traits: dict[str, str] = self.spec.get("settings", {}).get("traits", {})
        return traits

    @property
    def weights(self) -> Any:
        """{"sha256": ...} of published weights, "random" for none in their place, None: its model has none."""
        return self.spec.get("model", {}).get("weights")

    @property
    def from_scratch(self) -> bool:
        """Whether it started from random weights although its model has published ones."""
        return self.weights == "random"


@dataclass(frozen=True)
class SeedScore:
    """One score of one run, in its natural range; None with a reason where it is undefined."""

    run: MeasuredRun
    metric: str
    split: str
    own: bool
    value: float | None
    reason: str


SEED = re.compile(r'"seed":(\d+)')


class Specs:
    """Specs from their JSON. Those of runs that differ in their seed alone share all else: 20,000 then fit memory."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, ...], int | None] = {}  # which seed of a text is the run's, by what is around seeds
        self._shared: dict[tuple[str, ...], dict[str, Any]] = {}

    def parsed(self, text: str) -> dict[str, Any]:
        """The spec, which nobody changes.

        >>> Specs().parsed('{"kind":"finetune","model":{"coder":{"seed":42}},"seed":3}')
        {'kind': 'finetune', 'model': {'coder': {'seed': 42}}, 'seed': 3}
        """
        parts = SEED.split(text)  # a seed stands between two others
        around = tuple(parts[::2])
        if around not in self._own:
            self._own[around] = _place_of_own_seed(text)
        place = self._own[around]
        if place is None:
            return json.loads(text)
        seeds = parts[1::2]
        own = int(seeds.pop(place))
        key = (*around, *seeds)
        if key not in self._shared:
            self._shared[key] = json.loads(text)
        return self._shared[key] | {"seed": own}


def _place_of_own_seed(text: str) -> int | None:
    """Which of the seeds in a spec's JSON is the run's own and not one of its coder, counted from 0.

    >>> _place_of_own_seed('{"coder":{"seed":3},"seed":3}'), _place_of_own_seed('{"coder":{"seed":3}}')
    (1, None)
    """
    for place, found in enumerate(SEED.finditer(text)):
        changed = f'{text[: found.start()]}"seed":null{text[found.end() :]}'
        if json.loads(changed).get("seed", 0) is None:
            return place
    return None


@cache
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Packages or notes from their JSON; equal ones, which most runs have, are stored once."""
    return tuple(sorted(json.loads(text).items()))


def run_of(row: Sequence[Any], reason: str, origin: RunOrigin | None, specs: Specs) -> MeasuredRun:
    """A row of queries.RUNS with the origin of the same run (None: not finished)."""
    model, run_id, kind, task, seed, encoder, spec, state, fingerprint, metric, _ = row
    return MeasuredRun(
        run_id, kind, model, task, seed, encoder, specs.parsed(spec), state, reason, fingerprint or "",
        metric or "", origin or UNFINISHED,
    )  # fmt: skip


def environment_of(row: Sequence[Any]) -> RunOrigin:
    """A row of queries.ENVIRONMENTS as the origin of a run of which nothing else is known."""
    _, commit, tree, has_diff, hardware, packages = row
    return RunOrigin(commit or "", tree or "", bool(has_diff), hardware or "", _pairs(packages or "{}"))


def origin_of(row: Sequence[Any], environments: Mapping[str, RunOrigin]) -> RunOrigin:
    """A row of queries.ORIGINS with what is known of its environment."""
    _, environment, notes, seconds, finished_at = row
    made_in = environments.get(environment, UNFINISHED)
    return RunOrigin(
        made_in.git_commit, made_in.git_tree, made_in.has_diff, made_in.hardware, made_in.packages,
        _pairs(notes or "{}"), seconds or 0.0, finished_at,
    )  # fmt: skip


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Entry:
    """What one row of a table speaks of: a model's runs that may share a cell."""

    model: str
    is_baseline: bool  # trivial, no model
    encoder: str
    # What tells it from other entries of the model, and whether it is from scratch; '' for neither
    settings: str
    runs: tuple[MeasuredRun, ...]  # trainings on a task, or of a trivial baseline

    def of_task(self, task: str) -> list[MeasuredRun]:
        """Its runs of one task, finished or not."""
        return list(self._by_task.get(task, ()))

    @cached_property
    def _by_task(self) -> dict[str | None, list[MeasuredRun]]:
        return grouped(self.runs, lambda run: run.task)

    def shares_data(self, other: Entry) -> bool:
        """Whether both were measured on the same data, at one precision, in all tasks that both have."""
        ours, theirs = (
            {(run.task, run.precision, run.fingerprint) for run in entry.runs if run.state == "done"}
            for entry in (self, other)
        )
        both = {task for task, _, _ in ours} & {task for task, _, _ in theirs}
        return {key for key in ours if key[0] in both} == {key for key in theirs if key[0] in both}

    def group(self, tasks: Sequence[str]) -> str:
        """Equal for cells that may be compared: same encoder, precision and data."""
        return "|".join(sorted(set().union(*(self._groups.get(task, ()) for task in tasks))))

    @cached_property
    def _groups(self) -> dict[str | None, set[str]]:
        """What may be compared, by task: one text, or more where its runs differ."""
        return {
            task: {
                f"{run.encoder} {run.precision} {run.fingerprint}" for run in runs if run.is_scored or run.is_baseline
            }
            for task, runs in self._by_task.items()
        }


def entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The rows that runs may be put in: one a model, more where encoder, precision or data differ."""
    by_model = grouped(runs, lambda run: run.model)
    rows: list[Entry] = []
    for name, members in by_model.items():
        if all(run.is_baseline for run in members):
            continue
        scored = [run for run in members if run.is_scored]
        if not scored:  # pre-trained or timed only
            rows.append(Entry(name, False, members[0].encoder, "", ()))
        rows.extend(_entries_of(name, scored))
    for name in dict.fromkeys(run.model for run in runs if run.is_baseline):
        rows.extend(_entries_of(name, [run for run in by_model[name] if run.is_baseline]))
    return rows


def grouped(runs: Sequence[MeasuredRun], key: Callable[[MeasuredRun], Key]) -> dict[Key, list[MeasuredRun]]:
    """Runs by a key, in their order."""
    groups: dict[Key, list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def _entries_of(name: str, runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The entries of one model: its runs by encoder, by precision where a task has several, by the data of each task.

    A trivial baseline has no encoder: its run may have been made for an experiment of another size.
    """
    parts: dict[tuple[str, str, int], list[MeasuredRun]] = {}
    seen: dict[tuple[str, str, str | None], list[str]] = {}  # data of a task, in the order met
    done = [run for run in runs if run.state == "done"]
    by_task = grouped(done or runs, lambda run: run.task)
    apart = any(len({run.precision for run in of_task}) > 1 for of_task in by_task.values())
    for run in done or runs:
        encoder = "" if run.is_baseline else run.encoder
        precision = run.precision if apart else ""
        known = seen.setdefault((encoder, precision, run.task), [])
        if run.fingerprint not in known:
            known.append(run.fingerprint)
        parts.setdefault((encoder, precision, known.index(run.fingerprint)), []).append(run)
    # How an open run will be made is not known yet: the first part misses it
    if done and len(done) < len(runs):
        next(iter(parts.values())).extend(run for run in runs if run.state != "done")
    return [
        Entry(name, members[0].is_baseline, members[0].encoder, _settings(key, parts), tuple(members))
        for key, members in parts.items()
    ]


def _settings(key: tuple[str, str, int], parts: dict[tuple[str, str, int], list[MeasuredRun]]) -> str:
    """What tells one part of a model's runs from the others, and whether it is from scratch."""
    words = [SCRATCH] if any(run.from_scratch for run in parts[key]) else []
    if len({encoder for encoder, _, _ in parts}) > 1:
        words.append(key[0])
    if len({precision for _, precision, _ in parts}) > 1:
        words.append(f"precision {key[1]}")
    if len({index for _, _, index in parts}) > 1:
        words.append(f"data {parts[key][0].fingerprint[:8]}")
    return ", ".join(words)
