"""`hashbench evaluate`: finished fine-tunings and exported models on a further labelled set, stored as runs.

A run is added to every experiment that has the fine-tuning, so that reports and comparisons read it like any other. A
model whose fine-tuning the database does not have stands in an experiment of its own, COLLECTED.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hashbench.data.fingerprints import usable_cache_folder
from hashbench.data.sources import open_sources
from hashbench.errors import InputError
from hashbench.experiment.models import model_of
from hashbench.experiment.resolved import ResolvedExperiment
from hashbench.experiment.schema import Experiment
from hashbench.experiment.stored import experiment_of
from hashbench.experiment.tasks import task_of
from hashbench.results import queries
from hashbench.runs.artifacts import ArtifactFolder, kept_files
from hashbench.runs.base import Run, Workplace
from hashbench.runs.evaluation import KIND as EVALUATION
from hashbench.runs.evaluation import ExportedModel, evaluated
from hashbench.runs.finetuning import KIND as FINETUNING
from hashbench.runs.further_baseline import KIND as BASELINE
from hashbench.runs.materials import Materials
from hashbench.store.attaching import (
    attach_run,
    collecting_experiment,
    data_under,
    finished_on,
    names_of_experiments,
    places_of,
    specs_under,
)
from hashbench.store.engine import Store
from hashbench.store.finishing import finish
from hashbench.store.queue import ClaimedRun, LeaseLost, claim, fail, heartbeat, release, running
from hashbench.store.result import Result
from hashbench.store.status import artifacts, done_ids, run_spec
from hashbench.sweep.executors.base import OwnControl
from hashbench.sweep.heartbeat import LEASE_S, Heartbeat, StopSignal, captured_log
from hashbench.sweep.processes import own_name
from hashbench.sweep.provenance import environment
from hashbench.sweep.runner import release_dead, row_of
from hashbench.sweep.sources import sources_of
from hashbench.tasks.base import Task
from hashbench.tasks.catalogue import known_kinds, known_tasks
from hashbench.tasks.further import FurtherSet, further_set, with_classes
from hashbench.tasks.locate import load_task, locate_task
from hashbench.tasks.text import TaskData, TextKind
from hashbench.training.machine import Machine
from hashbench.training.recipe import quieten

POLL_S = 1.0  # between two looks at a worker that may be dead
COLLECTED = "evaluated"  # the experiment of models whose fine-tuning the database does not have


@dataclass(frozen=True)
class FurtherRequest:
    """Which set is meant, and what of it differs from the task that the model learned."""

    on: Path
    name: str | None = None
    split: str | None = None
    text: tuple[str, ...] = ()
    label: str | None = None

    def found(self, trained_on: Task) -> FurtherSet:
        """The set under a task. Raises InputError where it is not there."""
        return further_set(trained_on, self.on, name=self.name, split=self.split, text=self.text, label=self.label)


@dataclass(frozen=True)
class EvaluatedRun:
    """An evaluation that is stored."""

    run_id: str
    model: str
    trained_on: str  # name of the task
    seed: int | None
    task: str  # name of the set
    scores: dict[str, float | None]  # by metric, in the natural range; the reported one first
    experiments: tuple[str, ...]
    is_new: bool  # whether it was computed now


@dataclass(frozen=True)
class Subject:
    """A trained model as it is evaluated: where it stands, what it learned, and how its result is made."""

    trained_on: Task
    places: tuple[tuple[int, str], ...]  # id of an experiment, label of the model in it
    run_on: Callable[[FurtherSet], Run]
    # What must be there before a run is stored: the set under the classes of the training
    prepared: Callable[[FurtherSet], FurtherSet]
    result: Callable[[Run, FurtherSet, TaskData, Machine], Result]
    # Trivial ones of the same set, and how the result of each is made
    baselines: Callable[[FurtherSet], list[tuple[Run, Callable[[Machine], Result]]]]


def trainings_of(store: Store, experiment_id: int, task: str) -> list[str]:
    """Ids of the finished fine-tunings of an experiment on a task, in its order."""
    return finished_on(store, experiment_id, task, FINETUNING.name)


def evaluate_run(store: Store, run_id: str, request: FurtherRequest, data: Sequence[str] | None) -> EvaluatedRun:
    """Evaluates a finished fine-tuning of the database, or finds that it was evaluated before.

    Raises InputError for a run that is none, weights that are gone, and whatever is wrong with the set.
    """
    return _evaluate(store, _subject_of_run(store, run_id, data, None), request)


def evaluate_exported(
    store: Store, exported: ExportedModel, request: FurtherRequest, data: Sequence[str] | None
) -> EvaluatedRun:
    """The same of an exported model. It counts as its fine-tuning where the database has that with equal weights."""
    if done_ids(store, [exported.run]):
        stored = {each.kind: each.sha256 for each in artifacts(store, exported.run)}
        if stored == exported.parts:
            return _evaluate(store, _subject_of_run(store, exported.run, data, exported), request)
    return _evaluate(store, _subject_of_folder(store, exported, request), request)


def _subject_of_run(store: Store, run_id: str, data: Sequence[str] | None, exported: ExportedModel | None) -> Subject:
    """A fine-tuning of the database; its weights are those of `exported`, where that is given."""
    spec, short = run_spec(store, run_id), run_id[:12]
    if spec["kind"] != FINETUNING.name:
        raise InputError(f"run {short}: is of kind {spec['kind']}; name a fine-tuning (list: hashbench status)")
    if not done_ids(store, [run_id]):
        raise InputError(f"run {short}: is not finished; go on with its sweep first (see hashbench status)")
    loaded, label, had = experiment_of(store, run_id)
    model, sources = model_of(loaded, label), loaded.sources(data or had)
    task, cache = task_of(loaded, spec["task"]["name"]), usable_cache_folder()
    size = loaded.experiment.encoder
    tuned = Run(run_id, FINETUNING.name, label, size, spec, task=task.name, seed=spec["seed"])

    def prepared(found: FurtherSet) -> FurtherSet:
        if exported is None:
            kept_files(store, run_id, ArtifactFolder.of_environment(cache), with_head=True)
        return with_classes(found, load_task(task, open_sources(sources)))

    def place(found: FurtherSet, *runs: Run) -> Workplace:
        resolved = ResolvedExperiment(loaded.experiment, {label: model}, model, (found,), {}, sources)
        materials = Materials(sources, cache, [found, locate_task(task, open_sources(sources))])
        return Workplace(resolved, {run.id: run for run in runs}, materials, ArtifactFolder.of_environment(cache))

    def result(run: Run, found: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        there = place(found, tuned, run)
        if exported is None:
            made = EVALUATION.carry_out(run, there, machine)
        else:
            recipe = model.recipe(task.name)
            trained = replace(exported.trained, pad_to_max=recipe.pad_to_max, hardware=recipe)
            made = evaluated(trained, rows, machine, cache)
        return replace(made, notes={**made.notes, "sources": sources_of(run, there)})

    def baselines(found: FurtherSet) -> list[tuple[Run, Callable[[Machine], Result]]]:
        names = [name for name in loaded.experiment.floors if name in task.kind.baselines]
        located = locate_task(task, open_sources(sources))
        runs = [BASELINE.of(size, name, found, located) for name in names]
        return [(run, partial(BASELINE.carry_out, run, place(found, run))) for run in runs]

    places = tuple(places_of(store, run_id))
    return Subject(task, places, lambda found: EVALUATION.of(tuned, found), prepared, result, baselines)


def _subject_of_folder(store: Store, exported: ExportedModel, request: FurtherRequest) -> Subject:
    """An exported model by itself, labelled by the name of its folder."""
    label = exported.folder.resolve().name
    config = Experiment.model_validate({"name": COLLECTED, "models": (label,), "baseline": label})
    experiment_id = collecting_experiment(store, COLLECTED, config.model_dump(mode="json"), baseline=label)
    for spec in specs_under(store, experiment_id, label):
        if exported.weights not in spec:
            raise InputError(f"{exported.folder}: another model called {label!r} was evaluated; rename this folder")
    task = _task_of_folder(exported, request)

    def prepared(found: FurtherSet) -> FurtherSet:
        return found  # the folder names the classes

    def result(run: Run, found: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        return evaluated(exported.trained, rows, machine, usable_cache_folder())

    return Subject(
        task, ((experiment_id, label),), lambda found: EVALUATION.of_exported(exported, label, found), prepared, result,
        baselines=lambda found: [],  # the train set is not at hand
    )  # fmt: skip


def _task_of_folder(exported: ExportedModel, request: FurtherRequest) -> Task:
    """The task that an exported model learned, with the classes that its folder names."""
    task = known_tasks().get(exported.task)
    if task is None:
        if not request.text:
            raise InputError(
                f"{exported.folder}: task {exported.task!r} is none of the suite; name the columns of the set: "
                "--text COLUMN --label COLUMN"
            )
        wanted = "values" if exported.n_outputs == 1 else "classes"
        kind = next(each for each in known_kinds().values() if isinstance(each, TextKind) and each.outputs == wanted)
        metrics = kind.common_metrics
        text = ("first", "second") if exported.is_pair else ("text",)
        task = Task(exported.task, kind, text, metrics=metrics, select_metric=metrics[0])
    return replace(task, n_classes=exported.n_outputs, label_names=exported.class_names)


def _evaluate(store: Store, subject: Subject, request: FurtherRequest) -> EvaluatedRun:
    """Finds the stored run, or makes it: all that can be wrong with the input is found before anything is stored."""
    found = request.found(subject.trained_on)
    run = subject.run_on(found)
    _check_name(store, subject, run)
    is_new = not done_ids(store, [run.id])
    if is_new:
        found = subject.prepared(found)
        rows = found.load()
        attach_run(store, row_of(run), subject.places)
        _attempt(store, run, subject, lambda machine: subject.result(run, found, rows, machine))
        _add_baselines(store, subject, found)
    else:
        attach_run(store, row_of(run), subject.places)  # the fine-tuning may have joined another experiment
    stored = {row["metric"]: row["value"] for row in store.query(queries.BEST_SCORES_OF_RUN, id=run.id)}
    metrics = [metric for metric in found.task.metrics if metric in stored]
    order = sorted(metrics, key=lambda metric: metric != found.task.select_metric)
    names = tuple(names_of_experiments(store, run.id))
    scores = {metric: stored[metric] for metric in order}
    return EvaluatedRun(run.id, run.model, subject.trained_on.name, run.seed, found.task.name, scores, names, is_new)


def _add_baselines(store: Store, subject: Subject, found: FurtherSet) -> None:
    """The trivial baselines of the set, so that tables can say which model is not above them."""
    for run, work in subject.baselines(found):
        attach_run(store, row_of(run), [(experiment_id, run.model) for experiment_id, _ in subject.places])
        if not done_ids(store, [run.id]):
            _attempt(store, run, subject, work)


def _check_name(store: Store, subject: Subject, run: Run) -> None:
    """Raises InputError where the name of the set stands for something else in a table beside it."""
    name, remedy = str(run.task), "give the set another one: --name NAME"
    if name in known_tasks():
        raise InputError(f"{name!r} is a task of the suite; {remedy}")
    for experiment_id, _ in subject.places:
        for kind, fingerprint in data_under(store, experiment_id, name):
            if kind not in (EVALUATION.name, BASELINE.name):
                raise InputError(f"{name!r} is a task of the experiment; {remedy}")
            if fingerprint != run.data_fingerprint:
                raise InputError(f"{name!r} was another set, or had other columns, before; {remedy}")


def _attempt(store: Store, run: Run, subject: Subject, work: Callable[[Machine], Result]) -> None:
    """One attempt at a run, from its claim to the stored result."""
    held = _claimed(store, run, subject.places[0][0])
    if held is None:
        raise InputError(f"run {run.id[:12]}: another process is at it; wait for it, or try again in a minute")
    quieten()
    machine = Machine(folder=ArtifactFolder(usable_cache_folder()).running(run.id))
    control = OwnControl()
    stop = StopSignal(control)
    with Heartbeat(store, held, stop, control), captured_log() as log:
        try:
            result = work(machine)
            heartbeat(store, held)
            finish(store, held, replace(result, log=log()))
        except LeaseLost as error:
            raise InputError(f"run {run.id[:12]}: another process took it over; ask again") from error
        except BaseException as error:
            _give_back(store, held, error, log())
            raise
    shutil.rmtree(machine.folder, ignore_errors=True)


def _claimed(store: Store, run: Run, experiment_id: int) -> ClaimedRun | None:
    """The run, if it is free or its worker is dead; one that was silent too long is watched for a lease before that."""
    release_dead(store, experiment_id)
    until = time.monotonic() + LEASE_S + POLL_S
    while True:
        held = claim(
            store, experiment_id, worker=own_name(), lease_s=LEASE_S, max_attempts=1, environment=environment(),
            kinds=(run.kind,), only=run.id,
        )  # fmt: skip
        silent = any(each.run_id == run.id and each.lease_left_s < 0 for each in running(store, experiment_id))
        if held is not None or not silent or time.monotonic() > until:
            return held
        time.sleep(POLL_S)


def _give_back(store: Store, held: ClaimedRun, error: BaseException, log: str) -> None:
    """Ends an attempt without a result: a fault is a failure, an interruption is none."""
    if isinstance(error, Exception):
        fail(store, held, f"{type(error).__name__}: {error}", log)
    else:
        release(store, held, log=log)
