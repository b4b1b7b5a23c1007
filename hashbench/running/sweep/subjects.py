"""What `hashbench evaluate` is given: a finished fine-tuning of the database or an exported model, and a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import known_kinds, known_tasks
from hashbench.data.tasks.locate import load_task, locate_task
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.experiment.blocks import experiment_schema
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.experiment.schema import Experiment
from hashbench.running.experiment.stored import model_of_run
from hashbench.running.experiment.tasks import task_of
from hashbench.running.runs.artifacts import ArtifactFolder, kept_files
from hashbench.running.runs.base import Run, Workplace
from hashbench.running.runs.evaluation import KIND as EVALUATION
from hashbench.running.runs.evaluation import ExportedModel, evaluated
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.further import FurtherSet, further_set, with_classes
from hashbench.running.runs.further_baseline import KIND as BASELINE
from hashbench.running.runs.materials import Materials
from hashbench.running.runs.sources import sources_of
from hashbench.running.training.machine import Machine
from hashbench.store.attaching import collecting_experiment, places_of, specs_under
from hashbench.store.engine import Store
from hashbench.store.result import Result
from hashbench.store.status import done_ids, run_spec

COLLECTED = "evaluated"  # the experiment of models whose fine-tuning the database does not have


@dataclass(frozen=True)
class FurtherRequest:
    """Which set is meant, and what of it differs from the task that the model learned."""

    on: Path
    name: str | None = None
    split: str | None = None
    text: tuple[str, ...] = ()
    label: str | None = None
    delimiter: str | None = None  # of a .csv file; None: that of the task

    def found(self, trained_on: Task) -> FurtherSet:
        """The set under a task. Raises InputError where it is not there."""
        return further_set(
            trained_on, self.on, name=self.name, split=self.split, text=self.text, label=self.label,
            delimiter=self.delimiter,
        )  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A trained model as it is evaluated: where it stands, what it learned, and how its result is made."""

    trained_on: Task
    experiment: Experiment
    places: tuple[tuple[int, str], ...]  # id of an experiment, label of the model in it
    run_on: Callable[[FurtherSet], Run]
    # What must be there before a run is stored: the set under the classes of the training
    prepared: Callable[[FurtherSet], FurtherSet]
    result: Callable[[Run, FurtherSet, TaskData, Machine], Result]
    # Trivial ones of the same set, and how the result of each is made
    baselines: Callable[[FurtherSet], list[tuple[Run, Callable[[Machine], Result]]]]


def subject_of_run(store: Store, run_id: str, data: Sequence[str] | None, exported: ExportedModel | None) -> Subject:
    """A fine-tuning of the database; its weights are those of `exported`, where that is given."""
    spec, short = run_spec(store, run_id), run_id[:12]
    if spec["kind"] != FINETUNING.name:
        raise InputError(f"run {short}: is of kind {spec['kind']}; name a fine-tuning (list: hashbench status)")
    if not done_ids(store, [run_id]):
        raise InputError(f"run {short}: is not finished; go on with its sweep first (see hashbench status)")
    stored = model_of_run(store, run_id)
    loaded, model, label = stored.loaded, stored.model, stored.model.label
    sources = loaded.sources(data or stored.had)
    task, cache = task_of(loaded, spec["task"]["name"]), usable_cache_folder()
    size = loaded.experiment.encoder
    tuned = Run(run_id, FINETUNING.name, label, size, spec, task=task.name, seed=spec["seed"])

    def prepared(further: FurtherSet) -> FurtherSet:
        if exported is None:
            kept_files(store, run_id, ArtifactFolder.of_environment(cache), with_head=True)
        return with_classes(further, load_task(task, open_sources(sources)))

    def place(further: FurtherSet, *runs: Run) -> Workplace:
        resolved = ResolvedExperiment(loaded.experiment, {label: model}, model, (further,), {}, sources)
        materials = Materials(sources, cache, [further, locate_task(task, open_sources(sources))])
        return Workplace(resolved, {run.id: run for run in runs}, materials, ArtifactFolder.of_environment(cache))

    def result(run: Run, further: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        workplace = place(further, tuned, run)
        if exported is None:
            measured = EVALUATION.carry_out(run, workplace, machine)
        else:
            recipe = model.recipe(task.name)
            trained = replace(exported.trained, pad_to_max=recipe.pad_to_max, hardware=recipe)
            measured = evaluated(trained, rows, machine, cache)
        return replace(measured, notes={**measured.notes, "sources": sources_of(run, workplace)})

    def baselines(further: FurtherSet) -> list[tuple[Run, Callable[[Machine], Result]]]:
        names = [name for name in loaded.experiment.floors if name in task.kind.baselines]
        located = locate_task(task, open_sources(sources))
        runs = [BASELINE.of(size, name, further, located) for name in names]
        return [(run, partial(BASELINE.carry_out, run, place(further, run))) for run in runs]

    places = tuple(places_of(store, run_id))
    return Subject(
        task, loaded.experiment, places, lambda further: EVALUATION.of(tuned, further), prepared, result, baselines
    )


def subject_of_folder(store: Store, exported: ExportedModel, request: FurtherRequest) -> Subject:
    """An exported model by itself, labelled by the name of its folder."""
    label = exported.folder.resolve().name
    config = experiment_schema().model_validate({"name": COLLECTED, "models": (label,), "baseline": label})
    experiment_id = collecting_experiment(store, COLLECTED, config.model_dump(mode="json"), baseline=label)
    for spec in specs_under(store, experiment_id, label):
        if exported.weights not in spec:
            raise InputError(f"{exported.folder}: another model called {label!r} was evaluated; rename this folder")
    task = _task_of_folder(exported, request)

    def prepared(further: FurtherSet) -> FurtherSet:
        return further  # the folder names the classes

    def result(run: Run, further: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        return evaluated(exported.trained, rows, machine, usable_cache_folder())

    return Subject(
        task, config, ((experiment_id, label),), lambda further: EVALUATION.of_exported(exported, label, further),
        prepared, result, baselines=lambda further: [],  # the train set is not at hand
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
        kind = next(kind for kind in known_kinds().values() if isinstance(kind, TextKind) and kind.outputs == wanted)
        metrics = kind.common_metrics
        text = ("first", "second") if exported.is_pair else ("text",)
        task = Task(exported.task, kind, text, metrics=metrics, select_metric=metrics[0])
    return replace(task, n_classes=exported.n_outputs, label_names=exported.class_names)
