"""`hashbench evaluate`: finished fine-tunings and exported models on a further labelled set, stored as runs.

A run is added to every experiment that has the fine-tuning, so that reports and comparisons read it like any other. A
model whose fine-tuning the database does not have gets into the experiment COLLECTED.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.measured import COUNTED
from hashbench.common.showing import percent_text, tell
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import known_kinds, known_tasks, load_task, locate_task
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.experiment.file_blocks import check_no_baseline
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.experiment.schema import Experiment
from hashbench.running.experiment.stored_models import model_of_run
from hashbench.running.experiment.tasks import task_of
from hashbench.running.runs.artifacts import ArtifactFolder, kept_files
from hashbench.running.runs.base import Workplace, check_outputs
from hashbench.running.runs.baseline import FURTHER as BASELINE
from hashbench.running.runs.evaluation import EVALUATION, ExportedModel, evaluated
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.further_sets import FurtherRequest, FurtherSet, with_classes
from hashbench.running.runs.materials import Materials
from hashbench.running.runs.provenance import commits_note, environment, sources_of
from hashbench.running.sweep.attempt import LEASE_S, Attempts, Control, claimed
from hashbench.running.sweep.housekeeping import ResultSpool, release_dead
from hashbench.running.sweep.processes import own_name
from hashbench.running.training.fit import quieten
from hashbench.running.training.machine import Machine
from hashbench.store.engine import Store
from hashbench.store.planning import (
    Run,
    attach_run,
    collecting_experiment,
    data_under,
    finished_on,
    models_under,
    names_of_experiments,
    places_of,
    specs_under,
)  # fmt: skip
from hashbench.store.queue import ClaimedRun, LeaseLost, claim
from hashbench.store.result import Result
from hashbench.store.retry import Retry
from hashbench.store.status import (
    artifacts,
    attempts,
    best_scores,
    done_ids,
    find_experiment,
    find_run,
    run_spec,
    running,
)

COLLECTED = "evaluated"  # the experiment of models whose fine-tuning the database does not have
POLL_S = 1.0  # between two looks at a worker that may be dead


@dataclass(frozen=True)
class EvaluatedRun:
    """A stored evaluation of a model on a further set, with its scores."""

    run_id: str
    model: str
    trained_on: str  # name of the task
    seed: int | None
    task: str  # name of the set
    scores: dict[str, float | None]  # by metric, in the natural range; the reported one first
    counted: dict[str, str]  # by metric that counts one class of two, such as f1: this class
    experiments: tuple[str, ...]
    is_new: bool = False  # whether it was computed now
    notes: tuple[str, ...] = ()  # on the data of the set, as tables print them

    def __str__(self) -> str:
        """The evaluation in one line, scores in percent."""
        scores = ", ".join(
            f"{metric}{f' of {self.counted[metric]!r}' if metric in self.counted else ''} "
            f"{'undefined' if value is None else percent_text(value)}"
            for metric, value in self.scores.items()
        )
        seed = "" if self.seed is None else f", seed {self.seed}"
        state = "" if self.is_new else " (stored before)"
        return f"{self.model} ({self.trained_on}{seed}) on {self.task}: {scores}; run {self.run_id[:12]}{state}"


def trainings_of(store: Store, experiment: str, task: str) -> list[str]:
    """Ids of the finished fine-tunings of an experiment on a task, in its order. Raises InputError for none."""
    ids = finished_on(store, find_experiment(store, experiment).id, task, FINETUNING.name)
    if not ids:
        raise InputError(f"{store.name}: {experiment} has no finished fine-tuning on {task!r}; see hashbench status")
    return ids


def evaluate(
    store: Store,
    model: str | ExportedModel,
    request: FurtherRequest,
    data: Sequence[str] | None,
    *,
    trust_code: bool = False,
) -> EvaluatedRun:
    """Evaluates a fine-tuning of the database, named by the first digits of its id, or an exported model.

    A stored evaluation is read. An exported model counts as its fine-tuning where the database has that with equal
    weights. Raises InputError for a run that is none, weights that are gone, and whatever is wrong with the set.
    """
    request.check()  # what is typed here comes before what was stored
    retry = Retry(store.name, tell=tell)
    trained = partial(TrainedRun, trust_code=trust_code)
    subject: Subject
    if isinstance(model, str):
        subject = retry(trained, store, retry(find_run, store, model), data, None)
    elif retry(_is_stored, store, model):
        subject = retry(trained, store, model.run, data, model)
    else:
        subject = retry(ExportedFolder, store, model, request)
    return _evaluate(store, subject, request)


def _is_stored(store: Store, exported: ExportedModel) -> bool:
    """True when the fine-tuning of an exported model is finished here, with equal weights."""
    stored = {file.kind: file.sha256 for file in artifacts(store, exported.run)}
    return bool(done_ids(store, [exported.run])) and stored == exported.parts


class Subject(ABC):
    """A trained model to evaluate, with the task that it learned and the experiments that get its evaluation."""

    trained_on: Task
    experiment: Experiment
    places: list[tuple[int, str]]  # id of an experiment, label of the model in it

    @abstractmethod
    def run_on(self, further: FurtherSet) -> Run:
        """The run that evaluates the model on a further set."""

    @abstractmethod
    def prepared(self, further: FurtherSet) -> FurtherSet:
        """The set with the classes of the training. Raises InputError where the model's weights are gone."""

    @abstractmethod
    def result(self, run: Run, further: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        """The result of evaluating the model on a prepared set; `rows`: the texts and labels of the set."""

    def baselines(self, further: FurtherSet) -> list[tuple[Run, Callable[[Machine], Result]]]:
        """Runs of trivial baselines on the set, each with a function for its result; [] without a train set."""
        return []


class TrainedRun(Subject):
    """A finished fine-tuning of the database; its weights are taken from `exported`, if there is one."""

    def __init__(
        self, store: Store, run_id: str, data: Sequence[str] | None, exported: ExportedModel | None, *, trust_code: bool
    ) -> None:
        """Raises InputError for a run that is no finished fine-tuning."""
        spec, short = run_spec(store, run_id), run_id[:12]
        if spec["kind"] != FINETUNING.name:
            raise InputError(f"run {short}: is of kind {spec['kind']}; name a fine-tuning (list: hashbench status)")
        if not done_ids(store, [run_id]):
            raise InputError(f"run {short}: is not finished; go on with its sweep first (see hashbench status)")
        stored = model_of_run(store, run_id, trust_code=trust_code)
        self._store, self._exported, self._model = store, exported, stored.model
        self.experiment, self._sources = stored.loaded.experiment, stored.sources(data)
        self.trained_on = task = task_of(stored.loaded, spec["task"]["name"])
        size, label = self.experiment.encoder, stored.model.label
        self._tuned = Run(run_id, FINETUNING.name, label, size, spec, task=task.name, seed=spec["seed"])
        self.places = places_of(store, run_id)

    @cached_property
    def _artifacts(self) -> ArtifactFolder:
        """The files of runs, looked for when first read: an evaluation that is stored needs none."""
        return ArtifactFolder.of_environment(usable_cache_folder())

    def run_on(self, further: FurtherSet) -> Run:
        return EVALUATION.of(self._tuned, further)

    def prepared(self, further: FurtherSet) -> FurtherSet:
        if self._exported is None:
            kept_files(self._store, self._tuned.id, self._artifacts, with_head=True)
        return with_classes(further, load_task(self.trained_on, open_sources(self._sources)))

    def result(self, run: Run, further: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        place = self._workplace(further, self._tuned, run)
        if self._exported is None:
            measured = EVALUATION.carry_out(run, place, machine)
        else:
            recipe = place.model(self._tuned).finetune
            trained = replace(self._exported.trained, pad_to_max=recipe.pad_to_max, hardware=recipe)
            measured = evaluated(trained, rows, machine, place.materials.cache)
        return replace(
            measured, notes={**measured.notes, "sources": sources_of(run, place), **commits_note(run, place)}
        )

    def baselines(self, further: FurtherSet) -> list[tuple[Run, Callable[[Machine], Result]]]:
        names = self.trained_on.kind.baselines_of(self.trained_on)
        floors = [floor for floor in self.experiment.all_floors if floor.name in names]
        located = locate_task(self.trained_on, open_sources(self._sources))
        runs = [BASELINE.of(self.experiment.encoder, floor, further, located) for floor in floors]
        return [(run, partial(BASELINE.carry_out, run, self._workplace(further, run))) for run in runs]

    def _workplace(self, further: FurtherSet, *runs: Run) -> Workplace:
        """A workplace with these runs, the further set and the data of the training."""
        models = {self._model.label: self._model}
        resolved = ResolvedExperiment(self.experiment, models, self._model, (further,), {}, self._sources)
        tasks = [further, locate_task(self.trained_on, open_sources(self._sources))]
        materials = Materials(self._sources, self._artifacts.cache, tasks)
        return Workplace(resolved, {run.id: run for run in runs}, materials, self._artifacts)


class ExportedFolder(Subject):
    """An exported model whose fine-tuning the database does not have, labelled by the name of its folder."""

    def __init__(self, store: Store, exported: ExportedModel, request: FurtherRequest) -> None:
        """Raises InputError where another model of this label was evaluated, or the set's columns are not known."""
        self._model, self._label = exported, exported.folder.resolve().name
        check_no_baseline(self._label, "folder", remedy="rename it")
        config = {"name": COLLECTED, "models": (self._label,), "baseline": self._label}
        self.experiment = Experiment.model_validate(config)
        stored = self.experiment.stored()
        experiment_id = collecting_experiment(store, COLLECTED, stored, baseline=self._label)
        for spec in specs_under(store, experiment_id, self._label):
            if exported.weights not in spec:
                raise InputError(
                    f"{exported.folder}: another model called {self._label!r} was evaluated; rename this folder"
                )
        self.trained_on = _task_of_folder(exported, request)
        self.places = [(experiment_id, self._label)]

    def run_on(self, further: FurtherSet) -> Run:
        return EVALUATION.of_exported(self._model, self._label, further)

    def prepared(self, further: FurtherSet) -> FurtherSet:
        return further  # the folder names the classes

    def result(self, run: Run, further: FurtherSet, rows: TaskData, machine: Machine) -> Result:
        return evaluated(self._model.trained, rows, machine, usable_cache_folder())


def _task_of_folder(exported: ExportedModel, request: FurtherRequest) -> Task:
    """The task that an exported model learned, with the classes that its folder names."""
    task = known_tasks().get(exported.task)
    if task is None:
        if not request.text:
            raise InputError(
                f"{exported.folder}: task {exported.task!r} is none of the suite; name the columns of the set: "
                "--text COLUMN --label COLUMN"
            )
        wanted = "multi-label" if exported.multi_label else "values" if exported.n_outputs == 1 else "classes"
        kind = next(kind for kind in known_kinds().values() if isinstance(kind, TextKind) and kind.outputs == wanted)
        metrics = kind.common_metrics
        text = ("first", "second") if exported.is_pair else ("text",)
        task = Task(exported.task, kind, text, metrics=metrics, select_metric=metrics[0])
    order = exported.label_order or (task.label_names if task.label_names == exported.class_names else ())
    return replace(task, n_classes=exported.n_outputs, label_names=exported.class_names, label_order=order)


def _evaluate(store: Store, subject: Subject, request: FurtherRequest) -> EvaluatedRun:
    """The stored evaluation of a model on a set, carried out first if need be; input is checked before any storing."""
    retry = Retry(store.name, tell=tell)
    further = request.of(subject.trained_on)
    run = subject.run_on(further)
    retry(_check_name, store, subject, run)
    retry(ResultSpool(ArtifactFolder(usable_cache_folder())).hand_in, store)
    is_new = not retry(done_ids, store, [run.id])
    further = subject.prepared(further) if is_new else further
    rows = further.load() if is_new else None
    if rows is not None:
        check_outputs(further.task, rows)
    retry(_check_set, store, subject, run)  # once the set is known to be right
    # of one that is done too: the fine-tuning may have joined another experiment
    retry(attach_run, store, run, subject.places)
    if rows is not None:
        _attempt(store, retry, run, subject, lambda machine: subject.result(run, further, rows, machine))
        _add_baselines(store, retry, subject, further)
    evaluated = retry(_as_stored, store, run, subject, further)
    return evaluated if rows is None else replace(evaluated, is_new=True, notes=rows.notes)


def _as_stored(store: Store, run: Run, subject: Subject, further: FurtherSet) -> EvaluatedRun:
    """A stored evaluation, the reported metric first."""
    stored = {row["metric"]: row["value"] for row in best_scores(store, run.id)}
    metrics = sorted(further.task.metrics, key=lambda name: name != further.task.select_metric)
    notes = next((of.notes for of in attempts(store, run.id) if of.state == "done"), {})
    return EvaluatedRun(
        run.id,
        run.model,
        subject.trained_on.name,
        run.seed,
        further.task.name,
        {metric: stored[metric] for metric in metrics if metric in stored},
        {metric: notes[COUNTED + metric] for metric in metrics if metric in stored and COUNTED + metric in notes},
        tuple(names_of_experiments(store, run.id)),
        notes=(notes["data"],) if notes.get("data") else (),
    )


def _add_baselines(store: Store, retry: Retry, subject: Subject, further: FurtherSet) -> None:
    """Carries out and stores the trivial baselines of the set, which tables compare the models with."""
    for run, work in subject.baselines(further):
        places = [(experiment_id, run.model) for experiment_id, _ in subject.places]
        retry(attach_run, store, run, places)
        if not retry(done_ids, store, [run.id]):
            _attempt(store, retry, run, subject, work)


def _check_name(store: Store, subject: Subject, run: Run) -> None:
    """Raises InputError where the set has the name of a task of the suite or of a model."""
    name, remedy = str(run.task), "give the set another one: --name NAME"
    if name in known_tasks():
        raise InputError(f"{name!r} is a task of the suite; {remedy}")
    if name in {model for experiment_id, _ in subject.places for model in models_under(store, experiment_id)}:
        raise InputError(f"set {name!r}: is the name of a model of the experiment; {remedy}")


def _check_set(store: Store, subject: Subject, run: Run) -> None:
    """Raises InputError where the set has the name of a task, or of another set, of the same experiment."""
    name, remedy = str(run.task), "give the set another one: --name NAME"
    for experiment_id, _ in subject.places:
        for kind, fingerprint in data_under(store, experiment_id, name):
            if kind not in (EVALUATION.name, BASELINE.name):
                raise InputError(f"{name!r} is a task of the experiment; {remedy}")
            if fingerprint != run.data_fingerprint:
                raise InputError(f"{name!r} was another set, or had other columns or labels, before; {remedy}")


def _attempt(store: Store, retry: Retry, run: Run, subject: Subject, work: Callable[[Machine], Result]) -> None:
    """Makes one attempt at a run, from its claim to the stored result. Raises what ended it otherwise."""
    held = _claimed(store, retry, run, subject.places[0][0])
    if held is None:
        raise InputError(f"run {run.id[:12]}: another process is at it; wait for it, or try again in a minute")
    quieten()
    artifacts = ArtifactFolder(usable_cache_folder())
    machine = Machine(folder=artifacts.running(run.id))
    mine = Attempts(store, retry, Control(), artifacts)
    ending = mine.carry_out(held, lambda stop: work(replace(machine, should_stop=stop)))
    if isinstance(ending.error, LeaseLost):
        raise InputError(f"run {run.id[:12]}: another process took it over; ask again") from ending.error
    if ending.error is not None:
        raise ending.error


def _claimed(store: Store, retry: Retry, run: Run, experiment_id: int) -> ClaimedRun | None:
    """The claim of a run, after a wait if the lease of its worker is over; None if another process holds it."""
    retry(release_dead, store, experiment_id)
    until = time.monotonic() + LEASE_S + POLL_S
    options: Any = {"worker": own_name(), "lease_s": LEASE_S, "max_attempts": 1, "environment": environment()}
    options |= {"kinds": (run.kind,), "only": run.id}
    while True:
        held = claimed(retry, store, lambda token: claim(store, experiment_id, token=token, **options))
        others = () if held is not None else retry(running, store, experiment_id)
        silent = any(other.run_id == run.id and other.lease_left_s < 0 for other in others)
        if held is not None or not silent or time.monotonic() > until:
            return held
        time.sleep(POLL_S)
