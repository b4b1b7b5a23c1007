"""`hashbench data import-predictions`: predictions of another program beside the runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.errors import InputError, near_match
from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.foreign_predictions import matched
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.runs import SeedScore
from hashbench.running.experiment.file_blocks import check_no_baseline
from hashbench.running.experiment.schema import LONGEST_NAME, is_name
from hashbench.running.experiment.stored_models import task_data_of_run
from hashbench.running.runs.base import notes_on, scored_metrics, stored_predictions
from hashbench.running.runs.evaluation import IMPORTED_PREDICTIONS
from hashbench.running.runs.provenance import environment
from hashbench.running.sweep.attempt import LEASE_S
from hashbench.running.sweep.processes import own_name
from hashbench.scores.base import metric_of
from hashbench.store.engine import Store
from hashbench.store.planning import Run, attach_run
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish
from hashbench.store.status import done_ids

NAME_REMEDY = "give another --name"
KINDS = ("classes", "values")  # of outputs that a row can have


@dataclass(frozen=True)
class Imported:
    """The stored run of a file of predictions, with its scores."""

    run_id: str
    experiment: str
    scores: dict[str, float | None]  # by metric, in the natural range
    matched: str  # counts in words
    is_new: bool


def import_predictions(
    store: Store,
    file: Path,
    *,
    task: str,
    name: str,
    experiment: str | None = None,
    data: Sequence[str] | None = None,
    text: Sequence[str] = (),
    label: str | None = None,
    seed: int | None = None,
) -> Imported:
    """Stores the predictions in a file on a task of an experiment (None: the last), whose data must be at hand.

    Raises InputError for a name that is taken, a task without scores, and a file that does not have every example.
    """
    measured = measure(store, experiment)
    score = _score_on(measured, task)
    _check_label(measured, name)
    metric = metric_of(score.metric)
    if metric is None or metric.outputs not in KINDS:
        raise InputError(f"task {task!r}: {score.metric} scores no classes or values, and no others can be imported")
    read = task_data_of_run(store, score.run.run_id, data)
    answers = matched(file, read, score.split, text=text, label=label, seed=None if seed is None else str(seed))
    run = IMPORTED_PREDICTIONS.of(name, score.run.spec, answers.outputs, metric=score.metric, split=score.split)
    others = [of.run_id for entry in measured.imported for of in entry.runs if (of.model, of.task) == (name, task)]
    if others and run.id not in others:
        raise InputError(
            f"{name!r}: other predictions on {task} have this name in {measured.experiment.name}; {NAME_REMEDY}"
        )
    counts = f"{len(answers.outputs):,} examples of {score.split} matched by text and label"
    counts += f", {answers.unused:,} further row{'' if answers.unused == 1 else 's'} left out" if answers.unused else ""
    is_new = not done_ids(store, [run.id])
    note = f"{file.name}, {answers.form}: {counts}"
    attach_run(store, run, [(measured.experiment.id, name)])
    targets = text_kind(read.task).targets(read.task, read.splits[score.split])
    result = _result(read, SplitOutputs(answers.outputs, targets), score.split, note)
    if is_new:
        _store(store, measured.experiment.id, run, result)
    scores = {row.name: row.value for row in result.metrics if row.split == score.split}
    return Imported(run.id, measured.experiment.name, scores, counts, is_new)


def _score_on(measured: Measured, task: str) -> SeedScore:
    """A score that the experiment reports on a task: its run, metric and split. Raises InputError where it has none."""
    tasks = measured.tasks()
    where = f"{measured.store.name}: experiment {measured.experiment.name}"
    if task not in tasks:
        near = near_match(task, tasks) or f"; it has {', '.join(tasks)}"
        raise InputError(f"{where}: no task {task!r}{near}")
    for entry in measured.entries:
        for score in measured.own(entry, task):
            return score
    raise InputError(f"{where}: no run on {task!r} is finished, so there is nothing to compare with")


def _check_label(measured: Measured, name: str) -> None:
    """Raises InputError for a name that a model or a trivial baseline has."""
    if not is_name(name):
        raise InputError(f"--name {name!r}: is no name; it has at most {LONGEST_NAME} letters, digits, '.', '_', '-'")
    check_no_baseline(name, "--name", remedy=NAME_REMEDY)
    if name in {run.model for run in measured.runs}:
        raise InputError(f"--name {name!r}: is a model of experiment {measured.experiment.name}; {NAME_REMEDY}")


def _result(data: TaskData, answers: SplitOutputs, split: str, note: str) -> Result:
    metrics = [MetricRow("best_step", 0), MetricRow("last_step", 0), *scored_metrics(data.task, answers, split)]
    stored = [
        stored_predictions(split, checkpoint, answers.outputs, answers.targets) for checkpoint in ("best", "last")
    ]  # fmt: skip
    return Result(metrics, stored, notes={**notes_on(data), "imported": note})


def _store(store: Store, experiment_id: int, run: Run, result: Result) -> None:
    held = claim(
        store, experiment_id, worker=own_name(), lease_s=LEASE_S, max_attempts=1, environment=environment(),
        kinds=(run.kind,), only=run.id,
    )  # fmt: skip
    if held is None:
        raise InputError(f"run {run.id[:12]}: another process is at it; wait for it, or try again in a minute")
    finish(store, held, result)
