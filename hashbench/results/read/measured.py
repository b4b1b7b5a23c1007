"""Everything that an experiment measured, read once from the store: runs, scores of every seed, parameters and times.

Runs of one model are kept apart where they must not share a cell: other encoder, other precision, other data.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

from sqlalchemy.engine import RowMapping

from hashbench.common.measured import HELD_OUT, searched_values
from hashbench.common.process import collecting_nothing
from hashbench.results.read import queries
from hashbench.results.read.doubts import Separations, before_the_jump, separations
from hashbench.results.read.runs import (
    Entry,
    MeasuredRun,
    SeedScore,
    entries,
    environment_of,
    grouped,
    imported_entries,
    origin_of,
    run_of,
    without_apart,
)
from hashbench.results.read.units import Units, read_units
from hashbench.scores.base import metric_of
from hashbench.store.engine import Store
from hashbench.store.kinds import KEY, STORED
from hashbench.store.result import NOT_STORED, Checkpoint, Predictions, unpacked
from hashbench.store.status import StoredExperiment, find_experiment, predictions_of

_outputs = partial(unpacked, name="outputs")
PERCENT = 100.0  # scores are stored in their natural range
AVERAGE = "average"  # over tasks; in the place of the name of a task
Scores = dict[tuple[str, str], list[SeedScore]]  # by (label, run id)


@dataclass(frozen=True)
class ModelFact:
    """A number of a model that is not averaged over seeds: parameters, shares, times."""

    value: float | None
    value_high: float | None = None
    interval: tuple[float, float] | None = None  # 95 %, of a speed-up


@dataclass(frozen=True)
class Measured:
    """Everything that an experiment has measured: runs, scores, facts of models and counts of predictions."""

    experiment: StoredExperiment
    checkpoint: str
    runs: tuple[MeasuredRun, ...]
    entries: tuple[Entry, ...]  # in the experiment's order, trivial baselines last
    scores: dict[tuple[str, str], tuple[SeedScore, ...]]  # by (label, run id)
    # The same, metrics named 'rec@1 beam=10'
    perturbed: dict[tuple[str, str], tuple[SeedScore, ...]]
    facts: dict[tuple[str, str, str], ModelFact]  # by (model, encoder, column or stored name)
    n_examples: dict[tuple[str, str, str], int]  # stored predictions by (run id, task, split)
    store: Store
    pretrainings_of: Mapping[str, int]  # the number of pre-trainings that a model's runs need, by label
    # Imported predictions: shown in tables and `compare`, left out of claims, budgets, groups and averages
    imported: tuple[Entry, ...] = ()

    def query(self, sql: str, **parameters: Any) -> Sequence[RowMapping]:
        """Rows of a SELECT, in which parameters are written as :name."""
        return self.store.query(sql, **parameters)

    def predictions(self, run_ids: Sequence[str], split: str) -> dict[str, Predictions | None]:
        """The stored predictions of finished runs on a split, by run id, None where there are none; each read once."""
        having = [run_id for run_id in run_ids if (run_id, split) in self._having]
        unread = [run_id for run_id in having if (run_id, split) not in self._predictions]
        checkpoint: Checkpoint = "last" if self.checkpoint == "last" else "best"
        for run_id, stored in predictions_of(self.store, unread, split, checkpoint).items() if unread else ():
            self._predictions[run_id, split] = stored
        return {run_id: self._predictions.get((run_id, split)) for run_id in run_ids}

    @cached_property
    def _having(self) -> frozenset[tuple[str, str]]:  # of 20,000 runs without predictions, not one is looked up
        return frozenset((run_id, split) for run_id, _, split in self.n_examples)

    @cached_property
    def _predictions(self) -> dict[tuple[str, str], Predictions | None]:
        return {}  # by run id and split; tables and claims read the same ones

    def once(self, words: Callable[[Measured], str]) -> str:
        """The line that a function makes of these results, called once: all tables of a page have it."""
        if words not in self._lines:
            self._lines[words] = words(self)
        return self._lines[words]

    @cached_property
    def _lines(self) -> dict[Callable[[Measured], str], str]:
        return {}

    def without_outputs(self, run: MeasuredRun) -> str:
        """Why a run's outputs cannot be read, or were left out when it was stored, as far as noticed; else ''."""
        return self.store.unreadable.get(run.run_id, "") or dict(run.origin.notes).get(NOT_STORED, "")

    @property
    def record(self) -> dict[str, Any]:
        """The sweep's notes on its data, stored with the experiment."""
        return self.experiment.provenance

    def tasks(self) -> list[str]:
        """The tasks of the experiment, in its order."""
        return list(self._tasks)

    @cached_property
    def _tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.task for run in self.runs if run.task is not None))

    def traits(self) -> dict[str, dict[str, str]]:
        """Properties by which tasks may be grouped, such as language and script, by task; {} of most."""
        by_task: dict[str, dict[str, str]] = {}
        for run in self.runs:
            if run.task is not None:  # a run that was stored without them may be of the same task
                by_task[run.task] = by_task.get(run.task) or run.traits
        return by_task

    @cached_property
    def separations(self) -> Separations:
        """How well each pre-training separates shuffled tokens from intact ones on held-out rows, by model."""
        return separations(self.query, self.experiment.id)

    def of_held_out_rows(self, metric: str) -> Mapping[tuple[str, str], Sequence[float]]:
        """A metric of the pre-trainings on held-out rows of their corpus, by model and encoder; MODEL@STEP: earlier."""
        if metric not in self._of_held_out_rows:
            key = {"experiment": self.experiment.id, "split": HELD_OUT, "metric": metric}
            by_seed: dict[tuple[str, str, int | None], dict[int, float]] = {}
            for row in self.query(queries.CURVE_OF_PRETRAINING, **key):
                by_seed.setdefault((row["model"], row["encoder"], row["seed"]), {})[row["step"]] = row["value"]
            by_model: dict[tuple[str, str], list[float]] = {}
            for (model, encoder, _), steps in by_seed.items():
                for step, value in steps.items():
                    label = model if step == max(steps) else f"{model}@{step}"
                    by_model.setdefault((label, encoder), []).append(value)
            self._of_held_out_rows[metric] = by_model
        return self._of_held_out_rows[metric]

    @cached_property
    def _of_held_out_rows(self) -> dict[str, Mapping[tuple[str, str], Sequence[float]]]:
        return {}

    @cached_property
    def left_behind(self) -> frozenset[str]:
        """The models with a pre-training that did not jump."""
        return frozenset(before_the_jump(self.separations))

    def pretrainings(self) -> list[MeasuredRun]:
        """The pre-trainings, finished or not."""
        return list(self._pretrainings)

    @cached_property
    def _pretrainings(self) -> tuple[MeasuredRun, ...]:
        return tuple(run for run in self.runs if run.is_pretraining)

    def trainings(self) -> list[MeasuredRun]:
        """The trainings on a task, finished or not."""
        return list(self._trainings)

    @cached_property
    def _trainings(self) -> tuple[MeasuredRun, ...]:
        return tuple(run for run in self.runs if run.is_scored and not run.is_evaluation)

    @cached_property
    def apart(self) -> tuple[MeasuredRun, ...]:
        """One run of all that differ in seed and result alone: of 20,000 runs some hundreds."""
        return tuple({run.setting: run for run in self.runs}.values())

    @cached_property
    def trainings_apart(self) -> tuple[MeasuredRun, ...]:
        """The trainings among `apart`."""
        return tuple(run for run in self.apart if run.is_scored and not run.is_evaluation)

    def further_sets(self) -> list[str]:
        """The sets on which trainings were only evaluated, also pre-trainings: no average is taken over them."""
        trained = {run.task for run in self._trainings}
        tasks = dict.fromkeys(run.task for run in self.runs if run.is_evaluation and run.task is not None)
        return [task for task in tasks if task not in trained]

    def apart_from_trainings(self) -> dict[str, int]:
        """How many finished runs evaluate a model on a task that it is trained on, by kind; no cell has them."""
        by_label = grouped((run.model, run) for run in self.runs if run.state == "done" and run.is_scored)
        kept = {id(run) for runs in by_label.values() for run in without_apart(runs)}
        return Counter(run.kind for runs in by_label.values() for run in runs if id(run) not in kept)

    def untuned_tasks(self) -> list[str]:
        """The tasks on which pre-trained models are scored without fine-tuning."""
        return list(self._untuned_tasks)

    @cached_property
    def _untuned_tasks(self) -> tuple[str, ...]:  # every number of a claim asks
        return tuple(dict.fromkeys(run.task for run in self.runs if run.is_untuned and run.task is not None))

    def averaged_tasks(self) -> list[str]:
        """The tasks of an average: all on which models are trained, in the order of the experiment."""
        further = self.further_sets()
        return [task for task in self.tasks() if task not in further]

    def note_on_units(self) -> str:
        """A sentence for tables with intervals, where seeds are not what was drawn independently; else ''."""
        numbers = sorted({n for n in self.pretrainings_of.values() if n > 1})
        if not numbers:
            return ""
        words = " or ".join(map(str, numbers))
        return (
            f"Models have {words} pre-trainings. The fine-tunings of one count as one, their mean: intervals are over "
            "pre-trainings."
        )

    def own(self, entry: Entry, task: str) -> list[SeedScore]:
        """The scores of the metric and split that the experiment reports for the task, one a finished run."""
        return [score for run in entry.of_task(task) for score in self.scores_of(run) if score.own]

    def read(self, entry: Entry, task: str, metric: str, split: str) -> list[SeedScore]:
        """The scores of one metric on one split, one a finished run."""
        scores = [
            score for run in entry.of_task(task) for score in (*self.scores_of(run), *self.perturbed.get(run.key, ()))
        ]
        return [score for score in scores if (score.metric, score.split) == (metric, split)]

    def scores_of(self, run: MeasuredRun) -> tuple[SeedScore, ...]:
        """All scores of a run, one for each metric and split."""
        return self.scores.get(run.key, ())

    def ratios(self, paper: str) -> dict[tuple[str, str, str], tuple[float | None, int]]:
        """PRR, a score over the baseline's, by (model, encoder, task or 'average'), with the number of tasks behind it.

        A share, as the store's view `prr` computes it; None where the baseline's score is not above 0.
        """
        rows = self.query(queries.RATIOS, experiment=self.experiment.id, paper=paper, checkpoint=self.checkpoint)
        return {(row["model"], row["encoder"], row["task"]): (row["value"], row["n_tasks"]) for row in rows}

    @cached_property
    def constant_runs(self) -> frozenset[str]:
        """The ids of trainings and evaluations with one constant prediction on every split."""
        metrics = {run.metric: metric_of(run.metric) for run in self.apart if run.is_scored}
        metric_of_run = {run.run_id: metrics[run.metric] for run in self.runs if run.is_scored}
        constants: dict[str, bool] = {}
        for row in self.query(queries.OUTPUTS, experiment=self.experiment.id, checkpoint=self.checkpoint):
            outputs = self.store.readable(row["run_id"], _outputs, row)
            if outputs is not None and (metric := metric_of_run.get(row["run_id"])):
                before = constants.get(row["run_id"], True)
                constants[row["run_id"]] = before and metric.is_constant(outputs)
        return frozenset(run_id for run_id, constant in constants.items() if constant)

    def hides_items(self) -> bool:
        """True for an experiment on predicting hidden items: all of its tasks report a ranking metric."""
        read = {metric_of(metric) for metric in {run.metric for run in self.apart} if metric}
        return bool(read) and all(metric is not None and metric.outputs == "rankings" for metric in read)

    @cached_property
    def grids(self) -> dict[str, dict[str, list[Any]]]:
        """The values that fine-tunings searched on held-out rows, by model and key of the recipe."""
        recipes = ((run.model, run.spec["finetune"]) for run in self.trainings_apart if "finetune" in run.spec)
        return {name: lists for name, recipe in recipes if (lists := searched_values(recipe))}

    def readings(self, paper: str) -> dict[str, tuple[str, str]]:
        """The (metric, split) that a paper reports, by task."""
        if paper not in self._readings:
            rows = self.query(queries.READINGS, paper=paper)
            self._readings[paper] = {row["task"]: (row["metric"], row["split"]) for row in rows}
        return self._readings[paper]

    @cached_property
    def _readings(self) -> dict[str, dict[str, tuple[str, str]]]:
        return {}  # by paper; every cell of a table asks

    def fact(self, entry: Entry, name: str) -> ModelFact | None:
        """A fact of a model by its stored name or by its column in the views; None where it was not measured."""
        return self.facts.get((entry.model, entry.encoder, name))

    def bytes_of(self, entry: Entry, task: str) -> int | None:
        """The bytes of a trivial baseline that was learned on a task; None where they are not known."""
        return next((self._bytes[run.run_id] for run in entry.of_task(task) if run.run_id in self._bytes), None)

    @cached_property
    def _bytes(self) -> dict[str, int]:
        rows = self.query(queries.BYTES_OF_BASELINES, experiment=self.experiment.id)
        return {row["run_id"]: int(row["value"]) for row in rows}

    def find_entry(self, model: str) -> Entry | None:
        """The entry with all runs of a model; None where it has no runs, or several entries with different settings."""
        entries = [entry for entry in self.entries if entry.model == model and not entry.is_baseline]
        return entries[0] if len(entries) == 1 else None

    def tasks_with(self, metric: str, split: str) -> list[str]:
        """The tasks with a stored score of this metric and split, in the experiment's order."""
        scores = [score for by_run in (*self.scores.values(), *self.perturbed.values()) for score in by_run]
        having = {score.run.task for score in scores if (score.metric, score.split) == (metric, split)}
        return [task for task in self.tasks() if task in having]

    def has_one_entry(self, model: str) -> bool:
        """True where all runs of a model may share a cell, without which ratios from SQL views are invalid."""
        return sum(entry.model == model for entry in self.entries) == 1

    def labels(self) -> set[str]:
        """The labels of all models of the experiment, without trivial baselines."""
        return set(self._labels)

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset(run.model for run in self.runs if not run.is_baseline)


def measure(store: Store, name: str | None = None, *, checkpoint: str = "best") -> Measured:
    """Everything that an experiment has measured so far. `name` None: the experiment that was swept last."""
    return measure_version(store, find_experiment(store, name), checkpoint=checkpoint)


@collecting_nothing()
def measure_version(store: Store, experiment: StoredExperiment, *, checkpoint: str = "best") -> Measured:
    """Everything that a version of an experiment has measured so far."""
    key = {"experiment": experiment.id}
    units = read_units(store.query, experiment.id)
    every = _runs(store, experiment.id, units)
    runs = tuple(run for run in every if not run.is_imported)
    by_key = {run.key: run for run in every}
    scores, perturbed = Scores(), Scores()
    for row in store.tuples(queries.SCORES, **key, checkpoint=checkpoint):
        label, run_id, metric, split, condition, own, value, reason = row
        run = by_key[label, run_id]
        if condition:
            score = SeedScore(run, f"{metric} {condition}", split, False, value, reason or "")
            perturbed.setdefault(run.key, []).append(score)
        else:
            scores.setdefault(run.key, []).append(SeedScore(run, metric, split, bool(own), value, reason or ""))
    facts = {
        (row["model"], row["encoder"], row["column_name"]): _fact(row)
        # Rows that the views compute of facts come last, and replace a fact of the same name
        for row in store.query(queries.MODEL_FACTS, **key)
    }
    return Measured(
        experiment=experiment,
        checkpoint=checkpoint,
        runs=runs,
        entries=tuple(entries(runs)),
        scores={name: tuple(values) for name, values in scores.items()},
        perturbed={name: tuple(values) for name, values in perturbed.items()},
        facts=facts,
        n_examples={
            (row["run_id"], row["task"], row["split"]): row["n"]
            for row in store.query(queries.EXAMPLES, **key, checkpoint=checkpoint)
        },
        store=store,
        pretrainings_of=units.pretrainings,
        imported=tuple(imported_entries([run for run in every if run.is_imported])),
    )


def _runs(store: Store, experiment_id: int, units: Units) -> tuple[MeasuredRun, ...]:
    """All runs of an experiment, in its order."""
    key = {"experiment": experiment_id}
    environments = {row[0]: environment_of(row) for row in store.tuples(queries.ENVIRONMENTS)}
    origins = {row[0]: origin_of(row, environments) for row in store.tuples(queries.ORIGINS, **key)}
    reasons = {run_id: reason for run_id, reason in store.tuples(queries.REASONS, **key)}
    rows = sorted(store.tuples(queries.RUNS, **key), key=itemgetter(-1, 0))  # position, label
    kinds = {name.removeprefix(KEY): metrics for name, metrics in store.tuples(STORED)}
    return tuple(
        run_of(row, reasons.get(row[1], ""), origins.get(row[1]), kinds, units.of(row[0], row[1])) for row in rows
    )


def _fact(row: Any) -> ModelFact:
    has_interval = row["low"] is not None and row["high"] is not None
    return ModelFact(row["value"], row["value_high"], (row["low"], row["high"]) if has_interval else None)


MAJORITY = "majority"


def baselines(measured: Measured, tasks: Sequence[str]) -> list[Entry]:
    """The trivial baselines that have a run on any of the tasks, on all rows of train."""
    return [entry for entry in measured.entries if entry.is_fixed and any(map(entry.of_task, tasks))]


def baseline_value(scores: Sequence[SeedScore]) -> float | None:
    """A trivial baseline's score in its natural range; None where it was not measured.

    An undefined one is the value that counts for a constant prediction: 0 for a correlation.
    """
    values = [score.value for score in scores if score.value is not None]
    if values:
        return values[0]
    counting = (metric.of_constant for score in scores if (metric := metric_of(score.metric)))
    return next((value for value in counting if value is not None), None)


def hollow_accuracy(measured: Measured, entry: Entry, task: str, metric: str, split: str) -> tuple[float, float] | None:
    """(accuracy of a model, of the majority class) if the model's is lower, for metrics that then mean little.

    An F1 then measures only how often the model predicts the rarer class. None where the model's accuracy is not lower
    or unknown, and for other metrics.
    """
    of_score = metric_of(metric)
    if of_score is None or not of_score.needs_accuracy:
        return None
    accuracy = _accuracy(measured, entry, task, split)
    for majority in baselines(measured, [task]):
        most_common = _accuracy(measured, majority, task, split) if majority.model == MAJORITY else None
        if accuracy is not None and most_common is not None and accuracy < most_common:
            return accuracy, most_common
    return None


def _accuracy(measured: Measured, entry: Entry, task: str, split: str) -> float | None:
    values = [score.value for score in measured.read(entry, task, "accuracy", split) if score.value is not None]
    return statistics.fmean(values) if values else None
