"""The plan of an experiment: its runs in order, with their ids, and the checks before the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from hashbench.common.errors import InputError, NotAtHand, located, near_match
from hashbench.data.sources.documents import CorpusSource
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import Source, locate_corpus, open_sources
from hashbench.data.tasks.base import LocatedTask, Task
from hashbench.data.tasks.catalogue import locate_task
from hashbench.data.tasks.encoding import READ_BEFORE, counts_before, spelled_note, tokenizer_fingerprint, unknown_note
from hashbench.data.tasks.items import LinkSet
from hashbench.data.tasks.text import undefined_notes
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.bloom import Bloom
from hashbench.running.experiment.checks import (
    check_averages,
    check_devices,
    check_lengths,
    check_model,
    check_pairing,
    check_robustness,
    check_streaming,
    check_weights,
    untrained_positions,
    word_shapes,
)
from hashbench.running.experiment.claims import absent_from
from hashbench.running.experiment.file_values import KeyPath
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel, resolve_baseline, resolve_models
from hashbench.running.experiment.resolved import ResolvedExperiment, needs_corpus
from hashbench.running.experiment.tasks import find_tasks
from hashbench.running.experiment.tuning import declared
from hashbench.running.runs.base import check_outputs, kinds, names
from hashbench.running.runs.perturbed import pair_notes, pairs_of
from hashbench.running.sweep.absent import AbsentCorpus, AbsentTask, MissingInputs, block_without_weights
from hashbench.running.sweep.measuring import outside_budget
from hashbench.running.sweep.plan_notes import (
    baseline_notes,
    labelled,
    rate_notes,
    source_notes,
    spread_notes,
    tokenizer_of,
    untuned_notes,
    vocabulary_notes,
)
from hashbench.store.planning import Run

Located = TypeVar("Located", LocatedTask, CorpusSource)


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, in order, with its resolved models and data, and notes for the user."""

    resolved: ResolvedExperiment
    runs: tuple[Run, ...]  # two labels of one thing give the same id twice
    # label -> file and line of the model's coder
    places: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a user should know of the file before the first run
    absent: tuple[NotAtHand, ...] = ()  # of a plan that nobody carries out

    @property
    def counts(self) -> str:
        """The number of different runs of each kind, as "4 runs: 1 pretrain, 3 finetune"."""
        kinds = Counter({run.id: run.kind for run in self.runs}.values())
        return f"{kinds.total()} runs: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())


def plan(loaded: Loaded, *, data: Sequence[str] | None = None, dry: bool = False, here: bool = True) -> Plan:
    """The checked plan of an experiment with all of its runs. Reads fingerprints of the data, never the data.

    Everything is validated before the first run; raises InputError with file and line. `data` overrides the
    experiment's sources. `dry`: nobody will carry it out, so that data and weights need not be at hand.
    `here`: this machine carries it out, and must have the devices; else a note names the devices that it lacks.
    """
    absent = MissingInputs(refused=not dry)
    models = resolve_models(loaded, absent.errors.append if dry else None)
    baseline = resolve_baseline(loaded, models)
    tasks, on_devices = _checked(loaded, models, baseline, here=here and not dry)
    tuned = declared(loaded, models)
    names = loaded.sources(data)
    measured = [*models.values(), *([baseline] if loaded.experiment.efficiency else [])]
    blocks: dict[str, dict[str, Any]] = {}
    for model in measured:
        lacking = partial(block_without_weights, model, loaded.experiment.encoder)
        if block := absent.found_or(partial(check_weights, loaded, model), lacking):
            blocks[model.label] = block
    with located("--data" if data else loaded.where("data")):
        sources = open_sources(names)
    located_tasks = tuple(
        absent.found_or(partial(_locate_task, loaded, i, task, sources), partial(AbsentTask, task))
        for i, task in enumerate(tasks)
    )
    counts_words = loaded.experiment.robustness_block is not None or any(task.kind.reads_words for task in tasks)
    corpora = _locate_corpora(loaded, measured, sources, absent, counts_words=counts_words)
    learned = _locate_learned(loaded, measured, sources, absent)
    pairs = pairs_of(loaded, located_tasks)
    resolved = ResolvedExperiment(
        loaded.experiment, models, baseline, located_tasks, corpora, names, tuned, learned, pairs, blocks
    )
    runs = tuple(run for kind in kinds().values() for run in kind.planned(resolved))
    if not runs:
        raise InputError(
            f"{loaded.where('tasks')}: tasks: is empty, and no model is pre-trained, so there is no run; name a task"
        )
    places = {label: loaded.where(*model.place, "coder") for label, model in models.items()}
    notes = (
        *on_devices,
        *_claim_notes(loaded, resolved),
        *labelled((label, untrained_positions(loaded, model)) for label, model in models.items()),
        *rate_notes(models),
        *spread_notes(resolved),
        *baseline_notes(resolved),
        *labelled(vocabulary_notes(resolved)),
        *labelled((label, note) for label, model in models.items() for note in tokenizer_of(model).remarks()),
        *untuned_notes(resolved),
        *source_notes(resolved, sources),
        *outside_budget(resolved),
    )
    return Plan(resolved, runs, places, notes, tuple(absent.errors))


def _claim_notes(loaded: Loaded, resolved: ResolvedExperiment) -> tuple[str, ...]:
    claims = resolved.experiment.claims
    assert not isinstance(claims, str)  # the rows of a file are in its place
    labels = dict.fromkeys((*resolved.models, resolved.baseline.label, *resolved.experiment.floor_labels()))
    metrics = {entry.task.name: entry.task.metrics for entry in resolved.tasks}
    where = [loaded.where("claims", place) for place in range(len(claims))]
    return tuple(absent_from(claims, list(labels), metrics, where, selected=("models",) in loaded.overrides))


def refuse_other_runs(resolved: ResolvedExperiment, runs: Mapping[str, Run], where: str) -> None:
    """Raises InputError where this machine, with its data and its code, would plan other runs than these.

    Timings are left out: they name the machine that they are made on.
    """
    phase = names(measures_time=False)
    unknown = sorted({run.kind for run in runs.values()} - set(kinds()))
    with located(where):
        if unknown:
            raise InputError(f"unknown kind of run {unknown[0]!r}; give this machine the own file that it is from")
        sources = open_sources(resolved.sources)
        here = replace(
            resolved,
            tasks=tuple(locate_task(task.task, sources) for task in resolved.tasks),
            corpora={name: locate_corpus(name, sources) for name in resolved.corpora},
            learned={name: locate_task(task.task, sources) for name, task in resolved.learned.items()},
            _blocks={},
        )
        ids = {run.id for name in phase for run in kinds()[name].planned(here)}
        wanted = {run.id for run in runs.values() if run.kind in phase}
        if ids != wanted:
            raise InputError(
                f"another plan than the stored one, {len(wanted - ids)} of {len(wanted)} runs differ; give this "
                "machine the data, the release of hashbench and the own files that the sweep was planned with"
            )


def _checked(
    loaded: Loaded, models: Mapping[str, ResolvedModel], baseline: ResolvedModel, *, here: bool
) -> tuple[list[Task], list[str]]:
    """The tasks of the experiment, and notes on devices, after every check that needs no data."""
    for model in {**models, baseline.label: baseline}.values():
        check_model(loaded, model)
        check_lengths(loaded, model)
    lacking = check_devices(loaded, models.values(), here=here)
    usable_cache_folder()
    tasks = find_tasks(loaded)
    for model in models.values():
        check_streaming(loaded, model)
        _check_per_task(loaded, model, tasks)
        check_pairing(loaded, model, tasks)
        _check_select_metric(loaded, model, tasks)
    check_robustness(loaded, models.values(), tasks)
    check_averages(loaded, tasks)
    return tasks, lacking


def check_data(planned: Plan) -> dict[str, tuple[str, ...]]:
    """Reads every task once, to find invalid rows before hours of work; returns the notes on each.

    Raises InputError.
    """
    notes = {}
    for task in planned.resolved.tasks:
        checked = task.checked_items()
        if checked.n_items is not None:
            _check_buckets(planned, checked.n_items)
        of_texts: list[str] = []
        if checked.texts is not None:
            check_outputs(checked.texts.task, checked.texts)
            of_texts += _notes_on_search(planned, checked.texts)
            of_texts += unknown_tokens(planned, checked.texts)
            of_texts += spelled_specials(planned, checked.texts)
            of_texts += pair_notes(planned.resolved, checked.texts)
            of_texts += word_shapes(checked.texts, planned.resolved.models.values())
            of_texts += [
                f"{metric} is of class {name!r}" for metric, name in checked.texts.counted.items()
                if not any(note.startswith(f"{metric} is of ") for note in checked.notes)
            ]  # fmt: skip
        notes[task.task.name] = (*checked.notes, *of_texts)
    return notes


def _notes_on_search(planned: Plan, data: TaskData) -> list[str]:
    """Notes on the rows that values are searched on, and on metrics of a recipe that select and have no value."""
    task = data.task
    recipes = [model.recipe(task.name) for model in planned.resolved.models.values()] if task.kind.learned else []
    searched = [data.held_out()] if any(recipe.searches for recipe in recipes) else []
    notes = [note for rows in searched for note in (*rows.notes, *undefined_notes(rows))]
    for metric in dict.fromkeys(recipe.select_metric for recipe in recipes):
        if metric is not None and metric != task.select_metric:
            notes += [note for rows in (data, *searched) for note in undefined_notes(rows, metric)]
    return notes


def unknown_tokens(planned: Plan, data: TaskData) -> list[str]:
    """Notes on models to which many tokens are unknown; those whose tokenizer is trained in the sweep are left out."""
    counted: dict[str, str] = {}  # by tokenizer
    notes: list[tuple[str, str]] = []
    for label, model in planned.resolved.models.items():
        tokenizer = tokenizer_of(model)
        if tokenizer.unknown is None or tokenizer.needs_training:
            continue
        key = tokenizer_fingerprint(tokenizer)
        if key not in counted:
            counted[key] = unknown_note(counts_before(data, tokenizer))
        notes.append((label, counted[key]))
    return [f"unknown to {note}, of the first {READ_BEFORE:,} texts of each split" for note in labelled(notes)]


def spelled_specials(planned: Plan, data: TaskData) -> list[str]:
    """Notes on the texts that spell special tokens, where a model's tokenizer reads them as such."""
    labels_by_specials: dict[tuple[str, ...], list[str]] = {}
    for label, model in planned.resolved.models.items():
        labels_by_specials.setdefault(tokenizer_of(model).spelled_specials, []).append(label)
    return [
        f"{note}; read as special tokens by {', '.join(labels)}, as text by other models"
        for specials, labels in labels_by_specials.items()
        if specials and (note := spelled_note(data, specials))
    ]


def check_loaded(planned: Plan, data: Any) -> None:
    """Raises InputError for outputs that are too large to be read, too few items, or more train rows than there are."""
    check_outputs(data.task, data)
    if isinstance(data, TaskData) and data.task.kind.learned:
        name, resolved = data.task.name, planned.resolved
        recipes = [model.recipe(name).train_rows for model in resolved.models.values()]
        if numbers := [*resolved.experiment.finetune.rows_on(name), *chain.from_iterable(recipes)]:
            data.on_rows(max(numbers), seed=0)
    if isinstance(data, LinkSet):
        _check_buckets(planned, len(data.items))


def _check_buckets(planned: Plan, n_items: int) -> None:
    for label, model in planned.resolved.models.items():
        coder = make_coder(model.spec.code.coder, **model.spec.code.args)
        assert isinstance(coder, Bloom)  # check_model refuses others
        with located(f"{planned.places[label]}: model '{label}'"):
            coder.check_size(n_items)


def _check_select_metric(loaded: Loaded, model: ResolvedModel, tasks: Sequence[Task]) -> None:
    for task in (task for task in tasks if task.kind.learned):
        metric = model.recipe(task.name).select_metric
        if metric is not None and metric not in task.metrics:
            where = loaded.where(*loaded.place_of(model.place, "finetune", "select_metric"))
            raise InputError(
                f"{where}: metric '{metric}' does not fit task '{task.name}'; its metrics: {', '.join(task.metrics)}"
            )


def _check_per_task(loaded: Loaded, model: ResolvedModel, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    of_items = [task.name for task in tasks if task.kind.reads_items]
    for name in model.per_task:
        place = (*loaded.place_of(model.place, "finetune", "per_task"), name)
        if name in of_items:
            raise InputError(
                f"{loaded.where(*place)}: finetune.per_task: task '{name}' has items, and one recipe for all of them; "
                "write the values in finetune, or in the model's entry"
            )
        # The file's recipes are for all of its tasks; an override may take a few of them.
        if name not in names and not (("tasks",) in loaded.overrides and place in loaded.lines):
            where = loaded.where(*place)
            raise InputError(
                f"{where}: finetune.per_task: no task '{name}' in this experiment{near_match(name, names)}; "
                f"its tasks: {', '.join(names)}"
            )


def _locate_task(loaded: Loaded, i: int, task: Task, sources: Sequence[Source]) -> LocatedTask:
    place: KeyPath = ("tasks",) if isinstance(loaded.experiment.tasks, str) else ("tasks", i)
    return _opened(partial(locate_task, task, sources), loaded.where(*place))


def _locate_corpora(
    loaded: Loaded,
    models: Sequence[ResolvedModel],
    sources: Sequence[Source],
    absent: MissingInputs,
    *,
    counts_words: bool,
) -> dict[str, CorpusSource]:
    """The corpora that models read and, with `counts_words`, the experiment's corpora, whose words count as seen."""
    places: dict[str, str] = {}
    for model in models:
        for i, name in enumerate(model.pretrain.corpora if needs_corpus(model.spec) else ()):
            places.setdefault(name, loaded.where(*loaded.place_of(model.place, "pretrain", "corpora"), i))
    if counts_words and places:
        for i, name in enumerate(loaded.experiment.pretrain.corpora):
            places.setdefault(name, loaded.where("pretrain", "corpora", i))
    return {
        name: absent.found_or(
            partial(_opened, partial(locate_corpus, name, sources), where),
            partial(AbsentCorpus, name, "not at hand", "hub"),
        )
        for name, where in places.items()
    }


def _locate_learned(
    loaded: Loaded, models: Sequence[ResolvedModel], sources: Sequence[Source], absent: MissingInputs
) -> dict[str, LocatedTask]:
    """The tasks on whose training texts vocabularies are learned."""
    learned: dict[str, LocatedTask] = {}
    for model in models:
        where = loaded.where(*model.place, "tokenizer")
        for task in model.learned_on:
            if task.name not in learned:
                locate = partial(_opened, partial(locate_task, task, sources), where)
                learned[task.name] = absent.found_or(locate, partial(AbsentTask, task))
    return learned


def _opened(locate: Callable[[], Located], where: str) -> Located:
    """The located data, with its fingerprint read: this fails where the hub or a file cannot be read."""
    with located(where):
        source = locate()
        _ = source.fingerprint
        return source
