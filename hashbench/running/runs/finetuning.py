"""Fine-tuning of a model on a task of texts, from its pre-training, from published weights or from scratch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashbench.common.errors import InputError
from hashbench.common.measured import (
    CHOSEN_NOTE,
    SEARCHED_ON_NOTE,
    TEXTS_NOTE,
    TRAIN_ROWS,
    UNSELECTED_NOTE,
    MetricRow,
    TextsRead,
    searched_values,
)
from hashbench.common.showing import tell
from hashbench.data.perturbations.base import VERSION
from hashbench.data.sources.fingerprints import cache_folder, cache_room, digest, read_note, write_note
from hashbench.data.sources.weights import RANDOM, locate_weights
from hashbench.data.tasks.base import LocatedTask
from hashbench.data.tasks.blocks import BY_ROWS
from hashbench.data.tasks.encoding import unknown_note
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import ModelSpec, Template
from hashbench.models.text.base import Tokenizer
from hashbench.running.efficiency.parameters import count, token_cost
from hashbench.running.experiment.checks import task_words_note
from hashbench.running.experiment.completing import input_length
from hashbench.running.experiment.identity import whole
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import SETTINGS, Finetune, FinetuneRecipe
from hashbench.running.experiment.resolved import ResolvedExperiment, weights_setting
from hashbench.running.runs.artifacts import ArtifactFolder, ModelFiles
from hashbench.running.runs.base import (
    TrainingKind,
    Workplace,
    keeps_best,
    notes_on,
    stored_predictions,
    weight_bytes,
    with_rows_of,
)
from hashbench.running.runs.materials import Texts
from hashbench.running.runs.pretraining import KIND as PRETRAINING
from hashbench.running.runs.pretraining import restore
from hashbench.running.training.devices import precision_found
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, load_published, save_weights
from hashbench.store.planning import Run
from hashbench.store.result import Checkpoint, Predictions, Result

if TYPE_CHECKING:
    from hashbench.data.tasks.text_batches import FinetuningData
    from hashbench.running.training.finetuning import Finetuned, FinetuningModule
    from hashbench.running.training.task_training import OutputsBySplit


@dataclass(frozen=True)
class Tuned:
    """A finished fine-tuning with its data, its recipe, the scores of what was searched, and the chosen values.

    `notes`: by topic, on the rows that a search chose on, and where there was nothing to choose by.
    """

    done: Finetuned
    data: FinetuningData
    recipe: FinetuneRecipe
    grid_scores: list[MetricRow]
    chosen: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


class Finetuning(TrainingKind):
    """Kind of run: the fine-tuning of a model on a task of texts with a seed."""

    name = "finetune"
    metrics = "training"
    order = 30
    gives_signs = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        """All fine-tunings, seed by seed and task by task, so that a table fills evenly for all models."""
        trainings = resolved.trainings(lambda task: task.kind.learned and not task.kind.reads_items)
        return [self.of(resolved, model, task, seed) for task, model, seed in trainings]

    def of(self, resolved: ResolvedExperiment, model: ResolvedModel, task: LocatedTask, seed: int) -> Run:
        """The run of one fine-tuning, which needs the pre-training of its model, if there is one."""
        source = PRETRAINING.of(resolved, model, model.start_of(seed))
        recipe = model.recipe(task.task.name)
        spec = {
            "model": resolved.model_block(model),
            "corpus": resolved.corpus_block(model),
            "pretrain": source.id if source else None,
            "finetune": recipe.model_dump(exclude=SETTINGS),
            "seed": seed,
            "threads": resolved.experiment.threads,
            **weights_setting(model.spec),
            **({"perturbations": VERSION} if recipe.noise is not None else {}),
            **({"hold_out": task.task.hold_out} if recipe.searches and task.task.hold_out != BY_ROWS else {}),
            **({TRAIN_ROWS: model.train_rows} if model.train_rows is not None else {}),
        }
        needs = (source.id,) if source else ()
        return self.make(resolved.experiment.encoder, model.label, spec, task=task, seed=seed, needs=needs)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Fine-tunes and saves weights; returns the scores of all evaluations and the best and last predictions."""
        model = place.model(run)
        keeps, waits = keeps_best(place.resolved.experiment, model), place.is_needed(run)
        tuned = tune(run, place, machine, keep_best=keeps or waits)
        points = [*tuned.grid_scores, *tuned.done.points]
        predictions = final_predictions(tuned, points, model, machine)
        if machine.rank > 0:
            return Result()
        artifacts = []
        if keeps or waits:
            files = place.artifacts.files(run.id) if keeps else place.artifacts.waiting(run.id)
            save_best(tuned.done, files)
            kinds = {"weights": files.weights, "head": files.head}
            if keeps:
                artifacts = [place.artifacts.stored(kind, path) for kind, path in kinds.items()]
            else:
                for path in kinds.values():
                    place.artifacts.share(path)
        data = data_of(run, place)
        precision = precision_found(model.finetune.precision, machine.device)
        many = unknown_note(tuned.data.unknown)
        unknown = {"unknown_tokens": many} if many else {}
        texts = place.materials.texts(model)
        chosen = {CHOSEN_NOTE: json.dumps(tuned.chosen)} if tuned.chosen else {}
        if shape := task_words_note(data, texts.tokenizer):
            unknown["words"] = shape
        read = counted(run.spec, data, texts.tokenizer, model.spec.text.template, model.finetune, place.materials.cache)
        return Result(
            metrics=[*facts_of(run, tuned, data, place), *points],
            predictions=predictions,
            artifacts=artifacts,
            notes={
                **notes_on(data),
                **chosen,
                **tuned.notes,
                "precision_found": precision,
                **unknown,
                TEXTS_NOTE: read.note(),
            },
        )

    def parts(self, run: Run, place: Workplace, machine: Machine) -> tuple[FinetuningModule, FinetuningData]:
        from hashbench.running.training.finetuning import Job, module_of

        model = place.model(run)
        if model.finetune.searches:
            searched = " and ".join(searched_values(model.finetune.model_dump()))
            raise InputError(f"{run.model}: finetune.{searched}: a list to search; give one value")
        (recipe,) = model.finetune.recipes()
        data = batches_of(data_of(run, place), run, place, machine, batch_size=recipe.batch_size)
        return module_of(starting_model(run, place), data, Job(model.spec, recipe, int(run.seed or 0))), data

    def left_files(self, run: Run, artifacts: ArtifactFolder) -> list[dict[str, Path]]:
        """Files of the best weights: where they are kept for good, and where until other runs have used them."""
        both = (artifacts.files(run.id), artifacts.waiting(run.id))
        return [{"weights": files.weights, "head": files.head} for files in both]

    def kept_bytes(self, run: Run, resolved: ResolvedExperiment) -> int:
        model = resolved.model(run.model)
        return weight_bytes(model, run.encoder) if keeps_best(resolved.experiment, model) else 0


def tune(run: Run, place: Workplace, machine: Machine, *, keep_best: bool) -> Tuned:
    """Fine-tunes a run's model on its task; `keep_best`: the best weights are kept in memory."""
    from hashbench.running.training.finetuning import (
        Job,
        best_recipe,
        chosen_values,
        finetune,
        undecided,
        without_value,
    )

    model, task_data = place.model(run), data_of(run, place)
    seed = int(run.seed or 0)

    def prepared(data: TaskData, recipe: FinetuneRecipe) -> tuple[Model, FinetuningData]:
        return starting_model(run, place), batches_of(data, run, place, machine, batch_size=recipe.batch_size)

    searched = task_data.held_out(seed=0) if model.finetune.searches else task_data

    def held_out(recipe: FinetuneRecipe) -> tuple[Model, FinetuningData]:
        return prepared(searched, recipe)

    recipe, scores = best_recipe(model.finetune, model.spec, held_out, seed=seed, machine=machine)
    notes = {SEARCHED_ON_NOTE: "; ".join([*searched.notes, *filter(None, [undecided(scores)])])} if scores else {}
    built, data = prepared(task_data, recipe)
    done = finetune(built, data, Job(model.spec, recipe, seed, keep_best), machine=machine)
    if done.best.selection is None:
        notes[UNSELECTED_NOTE] = without_value(data, recipe.select_metric)
    if machine.rank == 0:
        for remark in filter(None, [undecided(scores), notes.get(UNSELECTED_NOTE)]):
            tell(f"{run.model} on {run.task}: {remark}")
    return Tuned(done, data, recipe, scores, chosen_values(model.finetune, recipe), notes)


def data_of(run: Run, place: Workplace) -> TaskData:
    """The data of a training's task, with as many rows of train as it has."""
    return with_rows_of(run.spec, place.materials.task_data(str(run.task)))


def starting_model(run: Run, place: Workplace) -> Model:
    """The model that a fine-tuning starts from, with weights pre-trained here, else published ones, else fresh ones."""
    model, source = place.model(run), run.spec["pretrain"]
    spec, texts, seed = model.spec, place.materials.texts(model), int(run.seed or 0)
    if source is not None:
        return restore(texts.build(spec, run.encoder, seed=model.start_of(seed)), place.runs[source], place)
    return first_weights(spec, texts, run.encoder, seed=seed)


def first_weights(spec: ModelSpec, texts: Texts, size: str, *, seed: int) -> Model:
    """A model with the weights with which its first training begins: published ones, else fresh ones."""
    built = texts.build(spec, size, seed=seed)
    if spec.training.weights is not None and spec.training.weights != RANDOM:
        published = locate_weights(spec.training.weights).read()
        load_published(built, replace(published, spellings=texts.tokenizer.spellings()))
    return built


def length_of(run: Run, place: Workplace) -> int:
    """The tokens of an input of a fine-tuning, special tokens included; the data of its task may be read for it."""
    model = place.model(run)
    if isinstance(model.finetune.max_length, int):
        return model.finetune.max_length
    if (read := counted_before(run.spec)) is not None:
        return read.max_length
    data, texts = data_of(run, place), place.materials.texts(model)
    return input_length(model.finetune, data, texts.tokenizer, model.spec.text.template, place.materials.cache)


def batches_of(
    data: TaskData, run: Run, place: Workplace, machine: Machine, *, batch_size: int | None = None
) -> FinetuningData:
    """Batches of a task's rows for the model and recipe of a run."""
    from hashbench.data.tasks.text_batches import FinetuningData

    model = place.model(run)
    texts, recipe = place.materials.texts(model), model.finetune
    batches = data.task.kind.batches(
        data,
        texts.tokenizer,
        texts.coder,
        template=model.spec.text.template,
        batch_size=batch_size or recipe.batch_size,
        max_length=length_of(run, place),
        pad_to_max=recipe.pad_to_max,
        noise=recipe.noise,
        seed=int(run.seed or 0),
        world_size=machine.devices,
        rank=machine.rank,
        folder=place.materials.cache,
    )
    assert isinstance(batches, FinetuningData)  # the plan has paired it
    return batches


def facts_of(run: Run, tuned: Tuned, data: TaskData, place: Workplace) -> list[MetricRow]:
    """Facts of a fine-tuning that tables print beside the scores: steps, costs, parameters, chosen learning rate."""
    done, model = tuned.done, place.model(run)
    facts = done.facts(len(data.splits["train"]))
    rows = place.materials.texts(model).vocabulary_rows
    cost = token_cost(model.spec, run.encoder, rows)
    costs = {"active_params": cost.active_parameters, "multiply_adds": cost.multiply_adds}
    facts += [MetricRow(name, value) for name, value in costs.items() if value is not None]
    if run.spec["pretrain"] is None:  # else the pre-training has noted them
        counts = count(model.spec, run.encoder, head=done.head, vocabulary_rows=rows)
        facts += [MetricRow("total_params", counts.total), MetricRow("emb_params", counts.embedding)]
    return facts + ([MetricRow("learning_rate", tuned.recipe.learning_rate)] if "learning_rate" in tuned.chosen else [])


def save_best(done: Finetuned, files: ModelFiles) -> None:
    """Writes the weights of model and head at the best evaluation."""
    done.restore_best()
    done.model.embedding.widen()
    save_weights(done.model, files.weights)
    save_weights(done.head, files.head)


def final_predictions(
    tuned: Tuned, points: list[MetricRow], model: ResolvedModel, machine: Machine
) -> list[Predictions]:
    """Predictions of the best and the last evaluation; on splits that select nothing, of the best alone.

    Their scores are added to the points.
    """
    from hashbench.running.training.finetuning import report_once

    done, data = tuned.done, tuned.data
    best = dict(done.best.outputs)
    if data.test_splits:
        done.restore_best()
        best |= report_once(done, data, points, machine, model.finetune)
    evaluated: dict[Checkpoint, OutputsBySplit] = {"best": best, "last": done.last.outputs}
    return [
        stored_predictions(split, checkpoint, values, data.targets(split))
        for checkpoint, outputs in evaluated.items()
        for split, values in outputs.items()
    ]


KIND = Finetuning()


FOLDER = "measured"  # in the cache
FORMAT = 1  # raised when what is counted changes


def counted_before(spec: Mapping[str, Any]) -> TextsRead | None:
    """The counts that the cache has for the fine-tuning of a spec; None where nobody has counted them here."""
    record = read_note(cache_folder() / FOLDER / _name(spec))
    return None if record is None else TextsRead.of_record(record)


def counted(
    spec: Mapping[str, Any], data: TaskData, tokenizer: Tokenizer, template: Template, finetune: Finetune, cache: Path
) -> TextsRead:
    """The counts for the fine-tuning of a spec, counted now if the cache has none."""
    before = counted_before(spec)
    if before is not None:
        return before
    from hashbench.data.tasks.split_facts import texts_read  # torch

    length = input_length(finetune, data, tokenizer, template, cache)
    counts = texts_read(data, tokenizer, template, length, cache)
    write_note(cache_room(FOLDER) / _name(spec), counts.record())
    return counts


def digest_of(spec: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of all that decides the counts: data, tokenizer, the corpora that it learns from, inputs' form."""
    model = whole(spec["model"])
    parts = [spec["data"], model["tokenizer"], spec["corpus"], model["template"], spec["finetune"]["max_length"]]
    parts += [spec[TRAIN_ROWS], spec["seed"]] if TRAIN_ROWS in spec else []
    return digest("texts read", str(FORMAT), json.dumps(parts, sort_keys=True))


def _name(spec: Mapping[str, Any]) -> str:
    return f"texts-{digest_of(spec)}.json"
