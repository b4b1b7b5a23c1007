"""A summary of an experiment of any size: counts of runs, workers and their runs, speed, and failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.common.showing import FINGERPRINT_LETTERS
from hashbench.results.read import queries
from hashbench.results.read.runs import BASELINE, FURTHER_BASELINE, IMPORTED, ROBUSTNESS
from hashbench.store.engine import NOW, Store

RECENT_S = 600.0  # a rate is measured over the last ten minutes, or over the last hour if too few runs ended in them
HOUR_S = 3600.0
ENOUGH = 5  # runs that make a rate
MOST_REASONS = 8
LEFT = ("planned", "running")  # states of runs that are still to be done
STATES = (*LEFT, "done", "failed", "void")


@dataclass(frozen=True)
class Activity:
    """A run that a worker is doing, with the seconds since it began and since the worker's last heartbeat."""

    run_id: str
    kind: str
    model: str
    task: str | None
    seed: int | None
    worker: str
    host: str
    hardware: str
    seconds: float
    silent: float

    @property
    def what(self) -> str:
        """The run in words, such as 'finetune bert-mlm cola seed 3'."""
        return in_words(self.kind, self.model, self.task, self.seed)


@dataclass(frozen=True)
class EndedBadly:
    """A reason for which n runs failed or were voided, with one of these runs as an example."""

    state: str
    reason: str
    n: int
    run_id: str
    example: str  # that run in words


@dataclass(frozen=True)
class Overview:
    """An experiment at one moment. `rate`: runs an hour, None where too few were finished lately."""

    by_kind: dict[str, dict[str, int]]
    active: tuple[Activity, ...]
    reasons: tuple[EndedBadly, ...]  # the commonest
    n_reasons: int
    ended: dict[str, int]  # attempts without a result, by state
    rate: float | None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all runs are done at this rate; None where the rate is not known."""
        if self.rate is None:
            return None
        n_open = sum(n for counted in self.by_kind.values() for state, n in counted.items() if state in LEFT)
        return HOUR_S * n_open / self.rate


def overview(store: Store, experiment_id: int) -> Overview:
    """Counts, workers, rate and failures of an experiment at this moment."""
    key, now = {"experiment": experiment_id}, NOW[store.dialect]
    by_kind: dict[str, dict[str, int]] = {}
    finished = {RECENT_S: 0, HOUR_S: 0}
    for row in store.query(queries.RUNS_BY_KIND.format(now=now), **key, recent=RECENT_S, hour=HOUR_S):
        by_kind.setdefault(row["kind"], {})[row["state"]] = row["n"]
        if row["state"] == "done":
            finished[RECENT_S] += row["n_recent"]
            finished[HOUR_S] += row["n_of_hour"]
    reasons = store.query(queries.REASONS_OF_FAILURES, **key)
    shown = []
    for row in reasons[:MOST_REASONS]:
        example = store.query(queries.RUN_IN_WORDS, **key, run=row["run_id"])[0]
        shown.append(EndedBadly(**row, example=in_words(*example.values())))
    window = RECENT_S if finished[RECENT_S] >= ENOUGH else HOUR_S
    return Overview(
        by_kind,
        tuple(Activity(**row) for row in store.query(queries.ACTIVE_ATTEMPTS.format(now=now), **key)),
        tuple(shown),
        len(reasons),
        {row["state"]: row["n"] for row in store.query(queries.ENDED_ATTEMPTS, **key)},
        finished[window] * HOUR_S / window if finished[window] >= ENOUGH else None,
    )


def noted(store: Store, experiment_id: int) -> list[tuple[str, str | None, str, dict[str, str]]]:
    """Distinct (kind, task, model, notes) of an experiment's finished runs."""
    rows = store.query(queries.NOTES_OF_COLUMNS, experiment=experiment_id)
    return [(row["kind"], row["task"], row["model"], json.loads(row["notes"] or "{}")) for row in rows]


def headline(name: str, store: str, by_state: Mapping[str, int]) -> str:
    """Counts of an experiment in one line.

    >>> headline("quickstart", "results.db", {"planned": 2, "running": 0, "done": 3, "failed": 0, "void": 0})
    'quickstart (results.db): 3 of 5 runs done, 2 planned'
    """
    others = [f"{n:,} {state}" for state, n in by_state.items() if n and state != "done"]
    return ", ".join([f"{name} ({store}): {by_state['done']:,} of {sum(by_state.values()):,} runs done", *others])


def in_words(kind: str, model: str, task: str | None, seed: int | None) -> str:
    """A run's kind, model, task and seed in words.

    >>> in_words("finetune", "bert-mlm", "cola", 3), in_words("pretrain", "bert-mlm", None, None)
    ('finetune bert-mlm cola seed 3', 'pretrain bert-mlm')
    """
    seeded = None if seed is None else f"seed {seed}"
    return " ".join(part for part in (kind, model, task, seeded) if part is not None)


@dataclass(frozen=True)
class ListedExperiment:
    """A row of `hashbench list`: an experiment with its counts of runs, encoders, models and tasks."""

    name: str  # of an earlier version NAME@VERSION, by which commands find it
    runs: int
    done: int
    failed: int
    encoders: tuple[str, ...]
    models: tuple[str, ...]  # without trivial baselines and imported predictions
    tasks: tuple[str, ...]
    called_at: float  # seconds since 1970
    earlier: int = 0  # experiments of the name that are not listed: earlier versions of its file


def listed_experiments(store: Store, *, every: bool = True) -> list[ListedExperiment]:
    """The newest experiment of each name, or `every` one, the one that was swept last first."""
    versions = store.tuples(queries.VERSIONS)
    of_name = Counter(name for _, name, *_ in versions)
    newest: dict[str, Sequence[Any]] = {}
    for row in versions:
        newest.setdefault(row[1], row)
    shown = versions if every else list(newest.values())
    members: dict[int, list[Sequence[Any]]] = {number: [] for number, *_ in shown}
    for number, *member in store.tuples(queries.MEMBERS_OF_ALL):
        if number in members:
            members[number].append(member)
    states: dict[int, Counter[str]] = {number: Counter() for number, *_ in shown}
    for number, state, n in store.tuples(queries.STATES_OF_ALL):
        if number in states:
            states[number][state] = n
    listed = []
    for number, name, called_at, fingerprint in shown:
        version = name if newest[name][0] == number else f"{name}@{fingerprint[:FINGERPRINT_LETTERS]}"
        rows, counted = members[number], states[number]
        # Trivial baselines have no encoder: an experiment of another size may have planned them. Some are evaluated on
        # noisy texts, as models are, whose fine-tunings are here.
        no_models = (BASELINE, FURTHER_BASELINE, IMPORTED, ROBUSTNESS)
        of_models = [row for row in rows if row[1] not in no_models]
        listed.append(
            ListedExperiment(
                version, counted.total(), counted["done"], counted["failed"],
                _each_once(encoder for _, _, _, encoder, _ in of_models), _each_once(row[0] for row in of_models),
                _each_once(task for _, _, task, _, _ in rows if task is not None), called_at,
                0 if every else of_name[name] - 1,
            )
        )  # fmt: skip
    return listed


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
