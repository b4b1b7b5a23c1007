"""From an experiment to its runs: what must be done, in which order, under which id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from hashbench.coders.bloom import Bloom
from hashbench.coders.registry import make_coder
from hashbench.data.documents import CorpusSource
from hashbench.data.fingerprints import usable_cache_folder
from hashbench.data.sources import Source, locate_corpus, open_sources
from hashbench.errors import InputError, located, near_match
from hashbench.experiment.checks import (
    check_devices,
    check_lengths,
    check_model,
    check_pairing,
    check_robustness,
    check_weights,
)
from hashbench.experiment.identity import device_block, run_id
from hashbench.experiment.load import KeyPath, Loaded
from hashbench.experiment.models import ResolvedModel, needs_corpus, resolve_baseline, resolve_models
from hashbench.experiment.specs import (
    Subject,
    efficiency_spec,
    entities_spec,
    finetune_spec,
    floor_spec,
    make_subject,
    pretrain_spec,
    robustness_spec,
)
from hashbench.experiment.tasks import find_tasks
from hashbench.tasks.base import LocatedTask, Task
from hashbench.tasks.items import LinkSet
from hashbench.tasks.locate import locate_task
from hashbench.tasks.text import TaskData

Located = TypeVar("Located", LocatedTask, CorpusSource)
RunKind = Literal["pretrain", "finetune", "entities", "floor", "efficiency", "robustness"]


@dataclass(frozen=True)
class Run:
    """The smallest unit of work with a result."""

    id: str  # sha256 of the canonical spec
    kind: RunKind
    model: str  # label in the experiment; a floor's name in runs of kind "floor"
    encoder: str  # size
    spec: dict[str, Any]  # everything a worker needs but paths
    task: str | None = None  # finetune, floor and robustness only
    seed: int | None = None  # pretrain, finetune and robustness only
    needs: tuple[str, ...] = ()  # ids of the runs that must be done before
    position: int = 0  # order in the experiment, 0 first
    data_fingerprint: str | None = None  # of the task's data
    metric: str | None = None  # what the experiment's own table reads from this run
    split: str | None = None


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, in order, and what they are made from."""

    runs: tuple[Run, ...]
    models: Mapping[str, ResolvedModel]  # by label, in the order of the file
    baseline: ResolvedModel
    tasks: tuple[LocatedTask, ...]
    corpora: Mapping[str, CorpusSource]  # by name
    sources: tuple[str, ...]  # "hub", "builtin" or folders, in order
    places: Mapping[str, str] = field(default_factory=dict)  # label -> file and line of the model's coder

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the file."""
        return tuple(task.task.name for task in self.tasks)


def plan(loaded: Loaded, *, data: Sequence[str] | None = None) -> Plan:
    """All runs of an experiment. Reads fingerprints of the data, never the data.

    Everything is validated before the first run; raises InputError with file and line. `data` overrides the
    experiment's sources.
    """
    models = resolve_models(loaded)
    baseline = resolve_baseline(loaded, models)
    for model in {**models, baseline.label: baseline}.values():
        check_model(loaded, model)
        check_lengths(loaded, model)
    check_devices(loaded, models.values())
    usable_cache_folder()
    tasks = find_tasks(loaded)
    for model in models.values():
        _check_per_task(loaded, model, tasks)
        check_pairing(loaded, model, tasks)
        _check_select_metric(loaded, model, tasks)
    check_robustness(loaded, models.values(), tasks)
    names = loaded.sources(data)
    for model in {**models, **({baseline.label: baseline} if loaded.experiment.efficiency else {})}.values():
        check_weights(loaded, model)
    with located("--data" if data else loaded.where("data")):
        sources = open_sources(names)
    found = tuple(_locate_task(loaded, i, task, sources) for i, task in enumerate(tasks))
    wanted = [*models.values(), *([baseline] if loaded.experiment.efficiency else [])]
    corpora = _locate_corpora(loaded, wanted, sources)
    if loaded.experiment.robustness_block and corpora:
        corpora |= _locate_words(loaded, sources)
    runs = _ordered(_Maker(loaded, found, corpora), models, baseline)
    places = {label: loaded.where(*model.place, "coder") for label, model in models.items()}
    return Plan(runs, models, baseline, found, corpora, names, places)


def check_data(planned: Plan) -> None:
    """Reads every task once, so that a label that is none is found before hours of work. Raises InputError."""
    for task in planned.tasks:
        n_items = task.checked_items()
        if n_items is not None:
            _check_buckets(planned, n_items)


def check_items(planned: Plan, data: TaskData | LinkSet) -> None:
    """Raises InputError with file and line where there are too few items for a model's buckets."""
    if isinstance(data, LinkSet):
        _check_buckets(planned, len(data.items))


def _check_buckets(planned: Plan, n_items: int) -> None:
    for label, model in planned.models.items():
        coder = make_coder(model.spec.code.coder, **model.spec.code.args)
        assert isinstance(coder, Bloom)  # check_model has asked
        with located(f"{planned.places[label]}: model '{label}'"):
            coder.check_size(n_items)


class _Maker:
    """Makes the runs of an experiment whose data are known."""

    def __init__(self, loaded: Loaded, tasks: tuple[LocatedTask, ...], corpora: Mapping[str, CorpusSource]) -> None:
        self.experiment, self.tasks, self._corpora = loaded.experiment, tasks, corpora
        self._subjects: dict[str, Subject] = {}
        self._pretrains: dict[str, Run | None] = {}

    def subject(self, model: ResolvedModel) -> Subject:
        """The model as specs name it; made once, since a BPE file is read for it."""
        if model.label not in self._subjects:
            names = model.pretrain.corpora if needs_corpus(model.spec) else ()
            fingerprints = {name: self._corpora[name].fingerprint for name in names}
            self._subjects[model.label] = make_subject(model, self.experiment, fingerprints)
        return self._subjects[model.label]

    def pretrain(self, model: ResolvedModel) -> Run | None:
        """The pre-training of a model, or None where it has none."""
        if not model.spec.pretrains:
            return None
        if model.label not in self._pretrains:
            spec = pretrain_spec(self.subject(model), self.experiment)
            self._pretrains[model.label] = self._run("pretrain", model.label, spec, seed=model.pretrain.seed)
        return self._pretrains[model.label]

    def finetune(self, model: ResolvedModel, task: LocatedTask, seed: int) -> Run:
        """One fine-tuning, which waits for its model's pre-training, or one training on hidden items."""
        if task.task.kind.reads_items:
            spec = entities_spec(self.subject(model), self.experiment, task=task, seed=seed)
            return _about(self._run("entities", model.label, spec, seed=seed), task)
        source = self.pretrain(model)
        start = source.id if source else None
        spec = finetune_spec(self.subject(model), self.experiment, pretrain=start, task=task, seed=seed)
        return _about(self._run("finetune", model.label, spec, seed=seed, needs=(start,) if start else ()), task)

    def floor(self, name: str, task: LocatedTask) -> Run:
        """What no representation is needed for, on one task."""
        return _about(self._run("floor", name, floor_spec(name, task)), task)

    def robustness(self, model: ResolvedModel, task: LocatedTask, seed: int) -> Run:
        """One fine-tuned model on perturbed texts, once its fine-tuning is done."""
        tuned = self.finetune(model, task, seed)
        names = self.experiment.pretrain.corpora if self._corpora else ()
        words = {name: self._corpora[name].fingerprint for name in names}
        spec = robustness_spec(tuned.id, self.experiment, task=task, seed=seed, words=words or None)
        return _about(self._run("robustness", model.label, spec, seed=seed, needs=(tuned.id,)), task)

    def efficiency(self, model: ResolvedModel, baseline: ResolvedModel) -> Run:
        """One measurement of a model in turn with the baseline, on this machine."""
        spec = efficiency_spec(
            self.subject(model),
            self.subject(baseline),
            self.experiment,
            tasks=self.tasks,
            device=device_block(self.experiment.device),
        )
        return self._run("efficiency", model.label, spec)

    def _run(self, kind: RunKind, label: str, spec: dict[str, Any], **fields: Any) -> Run:
        return Run(run_id(spec), kind, label, self.experiment.encoder, spec, **fields)


def _about(run: Run, task: LocatedTask) -> Run:
    return replace(
        run,
        task=task.task.name,
        data_fingerprint=task.fingerprint,
        metric=task.task.select_metric,
        split=task.task.report_splits[0],
    )


def _ordered(maker: _Maker, models: Mapping[str, ResolvedModel], baseline: ResolvedModel) -> tuple[Run, ...]:
    """Pre-trainings first; then floors; fine-tunings seed by seed and task by task, so that a table fills for all
    models alike; measurements last, when the machine grows quiet. Two labels of one thing give the same id twice."""
    experiment = maker.experiment
    runs = [run for model in models.values() if (run := maker.pretrain(model))]
    runs += [
        maker.floor(name, task)
        for task in maker.tasks
        for name in experiment.floors
        if name in task.task.kind.baselines
    ]
    runs += [
        maker.finetune(model, task, seed)
        for seed in experiment.seeds
        for task in maker.tasks
        for model in models.values()
    ]
    if experiment.robustness:
        runs += [
            maker.robustness(model, task, seed)
            for seed in experiment.seeds
            for task in maker.tasks
            for model in models.values()
        ]
    if experiment.efficiency:
        runs += [maker.efficiency(model, baseline) for model in models.values()]
    return tuple(replace(run, position=i) for i, run in enumerate(runs))


def _check_select_metric(loaded: Loaded, model: ResolvedModel, tasks: Sequence[Task]) -> None:
    for task in tasks:
        metric = model.recipe(task.name).select_metric
        if metric is not None and metric not in task.metrics:
            where = loaded.where(*loaded.place_of(model.place, "finetune", "select_metric"))
            raise InputError(
                f"{where}: metric '{metric}' does not fit task '{task.name}'; its metrics: {', '.join(task.metrics)}"
            )


def _check_per_task(loaded: Loaded, model: ResolvedModel, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    for name in model.per_task:
        if name not in names:
            where = loaded.where(*loaded.place_of(model.place, "finetune", "per_task"), name)
            raise InputError(
                f"{where}: finetune.per_task: no task '{name}' in this experiment{near_match(name, names)}; "
                f"its tasks: {', '.join(names)}"
            )


def _locate_task(loaded: Loaded, i: int, task: Task, sources: Sequence[Source]) -> LocatedTask:
    place: KeyPath = ("tasks",) if isinstance(loaded.experiment.tasks, str) else ("tasks", i)
    with located(loaded.where(*place)):
        return _opened(locate_task(task, sources))


def _locate_corpora(
    loaded: Loaded, models: Sequence[ResolvedModel], sources: Sequence[Source]
) -> dict[str, CorpusSource]:
    found: dict[str, CorpusSource] = {}
    for model in models:
        for i, name in enumerate(model.pretrain.corpora if needs_corpus(model.spec) else ()):
            if name not in found:
                place = loaded.place_of(model.place, "pretrain", "corpora")
                found[name] = _open_corpus(name, sources, loaded.where(*place, i))
    return found


def _locate_words(loaded: Loaded, sources: Sequence[Source]) -> dict[str, CorpusSource]:
    """The corpora of the experiment itself: their words are the seen ones for all models alike."""
    names = loaded.experiment.pretrain.corpora
    return {name: _open_corpus(name, sources, loaded.where("pretrain", "corpora", i)) for i, name in enumerate(names)}


def _open_corpus(name: str, sources: Sequence[Source], where: str) -> CorpusSource:
    with located(where):
        return _opened(locate_corpus(name, sources))


def _opened(found: Located) -> Located:
    """What was located; taking its fingerprint is what fails where the hub or a file cannot be read."""
    _ = found.fingerprint
    return found
