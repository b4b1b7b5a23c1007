"""What an experiment measured, read once from the store: runs, scores of every seed, parameters and times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.report.runs import Entry, MeasuredRun, Origin, Seeded, entries
from hashbench.store.engine import Store
from hashbench.store.status import Experiment, find_experiment

RUNS = """
SELECT er.model AS model, er.position AS position, r.id AS run_id, r.kind AS kind, r.task AS task, r.seed AS seed,
       r.encoder AS encoder, r.spec AS spec, r.state AS state, r.data_fingerprint AS data_fingerprint,
       (SELECT a.reason FROM attempt a
        WHERE a.run_id = r.id AND a.reason IS NOT NULL ORDER BY a.id DESC LIMIT 1) AS reason
FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment ORDER BY er.position, er.model
"""
SCORES = """
SELECT run_id, model, metric, split, own, value, reason FROM glue_scores
WHERE experiment_id = :experiment AND checkpoint = :checkpoint ORDER BY position, seed
"""
PERTURBED = """
SELECT run_id, model, metric, split, perturbation, value, reason FROM perturbed_scores
WHERE experiment_id = :experiment ORDER BY position, seed
"""
ORIGINS = """
SELECT run_id, git_commit, has_diff, hardware_name, packages, notes, seconds, finished_at FROM provenance
WHERE experiment_id = :experiment
"""
RATIOS = """
SELECT model, encoder, task, value, n_tasks FROM prr
WHERE experiment_id = :experiment AND paper = :paper AND checkpoint = :checkpoint
"""
FACTS = """
SELECT model, encoder, name AS column_name, MIN(value) AS value,
       CASE WHEN MAX(value) > MIN(value) THEN MAX(value) END AS value_high
FROM facts WHERE experiment_id = :experiment GROUP BY model, encoder, name
"""
COLUMNS = """
SELECT model, encoder, column_name, value, NULL AS value_high FROM table_2
WHERE experiment_id = :experiment AND checkpoint = ''
UNION ALL
SELECT model, encoder, column_name, value, value_high FROM table_3 WHERE experiment_id = :experiment
"""
EXAMPLES = """
SELECT p.run_id, f.task, p.split, p.n FROM finished f JOIN predictions p ON p.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND p.checkpoint = :checkpoint
"""
CHOSEN = """
SELECT f.model, m.value FROM finished f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.kind = 'finetune' AND m.name = 'learning_rate' AND m.split = '' AND m.step = 0
"""
READINGS = "SELECT task, metric, split FROM reading WHERE paper = :paper"

Scores = dict[tuple[str, str], list[Seeded]]  # by (label, run id)


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

    experiment: Experiment
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
        scores = [score for run in entry.of_task(task) for score in (*self._of(run), *self._perturbed(run))]
        return [score for score in scores if (score.metric, score.split) == (metric, split)]

    def _of(self, run: MeasuredRun) -> tuple[Seeded, ...]:
        return self.scores.get((run.model, run.run_id), ())

    def _perturbed(self, run: MeasuredRun) -> tuple[Seeded, ...]:
        return self.perturbed.get((run.model, run.run_id), ())

    def ratios(self, paper: str) -> dict[tuple[str, str, str], Ratio]:
        """PRR by (model, encoder, task or 'average'), as the store's view forms it."""
        rows = self.query(RATIOS, experiment=self.experiment.id, paper=paper, checkpoint=self.checkpoint)
        return {(row["model"], row["encoder"], row["task"]): Ratio(row["value"], row["n_tasks"]) for row in rows}

    def chosen_rates(self) -> list[float]:
        """The learning rates that fine-tunings chose from a grid, one a run."""
        return [row["value"] for row in self.query(CHOSEN, experiment=self.experiment.id)]

    def readings(self, paper: str) -> dict[str, tuple[str, str]]:
        """Task -> (metric, split) that a paper reads."""
        return {row["task"]: (row["metric"], row["split"]) for row in self.query(READINGS, paper=paper)}

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
        having = {
            score.run.task
            for scores in (*self.scores.values(), *self.perturbed.values())
            for score in scores
            if (score.metric, score.split) == (metric, split)
        }
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
    origins = {row["run_id"]: _origin(row) for row in store.query(ORIGINS, **key)}
    runs = tuple(_run(row, origins) for row in store.query(RUNS, **key))
    by_key = {(run.model, run.run_id): run for run in runs}
    scores: Scores = {}
    for row in store.query(SCORES, **key, checkpoint=checkpoint):
        _add(scores, by_key, row, row["metric"], own=bool(row["own"]))
    perturbed: Scores = {}
    for row in store.query(PERTURBED, **key):
        _add(perturbed, by_key, row, f"{row['metric']} {row['perturbation']}", own=False)
    facts = {
        (row["model"], row["encoder"], row["column_name"]): Fact(row["value"], row["value_high"])
        for query in (FACTS, COLUMNS)  # what the views form of facts counts more than a fact of that name
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
    rows = store.query(EXAMPLES, experiment=experiment, checkpoint=checkpoint)
    return {(row["run_id"], row["task"], row["split"]): row["n"] for row in rows}


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
