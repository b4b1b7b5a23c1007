"""One run, carried out: from its spec to the result that the store keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from filelock import FileLock

from hashbench.coders.cache import type_codes
from hashbench.data.corpus_batches import PretrainingData
from hashbench.data.weights import RANDOM, locate_weights
from hashbench.efficiency.measure import Contender, Setting, device_of, measure
from hashbench.efficiency.parameters import count
from hashbench.experiment.load import Loaded
from hashbench.experiment.models import ResolvedModel, model_of
from hashbench.experiment.schema import Efficiency, Precision
from hashbench.store.result import Artifact, Metric, Predictions, Result
from hashbench.sweep.materials import Materials, Texts
from hashbench.sweep.plan import Run
from hashbench.tasks.base import Outputs, Task
from hashbench.tasks.items import LinkSet
from hashbench.tasks.text import TaskData
from hashbench.tasks.text_batches import FinetuningData
from hashbench.training.curves import Point
from hashbench.training.finetuning import (
    Finetuned,
    Job,
    finetune,
    report_once,
    restore_best,
)
from hashbench.training.grid import best_learning_rate
from hashbench.training.heads import make_head
from hashbench.training.machine import Machine
from hashbench.training.model import Model, build_model, load_published, load_weights, save_weights
from hashbench.training.pretraining import pretrain
from hashbench.training.recipe import precision_found


@dataclass(frozen=True)
class Workplace:
    """What the runs of one worker share."""

    loaded: Loaded
    runs: Mapping[str, Run]
    materials: Materials
    artifacts: Path  # root of what the store's artifact URLs name

    def model(self, label: str) -> ResolvedModel:
        """A model of the experiment by its label."""
        return model_of(self.loaded, label)

    def weights_of(self, run_id: str) -> Path:
        """Where the weights of a pre-training lie."""
        return self.artifacts / run_id / "weights.safetensors"

    def kept_until_robust(self, run_id: str) -> Path:
        """The folder of a fine-tuning's best weights between its end and that of the run on perturbed texts."""
        return self.materials.cache / "finetuned" / run_id


def do_pretraining(run: Run, place: Workplace, machine: Machine) -> Result:
    """Pre-trains a model and stores its weights, its parameter counts and its loss curve."""
    resolved = place.model(run.model)
    texts = place.materials.texts(resolved)
    model, points, notes = pretrain_model(run, resolved, texts, place, machine)
    if machine.rank > 0:
        return Result()  # the first device's result is the run's
    path = place.weights_of(run.id)
    save_weights(model, path)
    counts = count(resolved.spec, run.encoder, vocabulary_rows=texts.vocabulary_rows)
    facts = [
        Metric("total_params", counts.total),
        Metric("emb_params", counts.embedding),
        Metric("weight_bytes", path.stat().st_size),
        *notes,
    ]
    return Result(
        metrics=[*facts, *metrics_of(points)],
        artifacts=[artifact(path, "weights", place.artifacts)],
        notes={"precision_found": precision_found(resolved.pretrain.precision, machine.device)},
    )


def pretrain_model(
    run: Run, resolved: ResolvedModel, texts: Texts, place: Workplace, machine: Machine
) -> tuple[Model, list[Point], list[Metric]]:
    """The pre-trained model, the points of its curves, and facts about the training."""
    spec, recipe, corpus = resolved.spec, resolved.pretrain, texts.corpus
    objective = spec.training.objective
    assert objective is not None and objective != "entities"  # the plan makes no pre-training of others
    assert corpus is not None
    model = build_model(spec, run.encoder, seed=recipe.seed, **texts.of_the_vocabulary(spec.text.template))
    head = make_head(model, objective)
    data = PretrainingData(
        corpus,
        type_codes(texts.coder, corpus.types, place.materials.cache / "codes"),
        objective=objective,
        objective_args=spec.training.args,
        outputs=texts.outputs,
        template=spec.text.template,
        batch_size=recipe.batch_size,
        sequence_length=recipe.sequence_length,
        seed=recipe.seed,
        world_size=machine.devices,
        rank=machine.rank,
    )
    steps = min(recipe.steps, data.steps_per_epoch * recipe.max_epochs)
    done = pretrain(model, head, data, recipe, total_steps=steps, machine=machine)
    facts = [Metric("steps_done", done.steps), Metric("tokens_per_second", done.tokens_per_second)]
    return done.model, done.points, facts


def pretrained_model(run: Run, resolved: ResolvedModel, texts: Texts, place: Workplace, machine: Machine) -> Model:
    """The model a fine-tuning starts from: weights pre-trained here or published, or fresh ones where it has neither.

    Weights of a finished pre-training that are no longer there are made again; its results stay.
    """
    source = run.spec["pretrain"]
    seed = run.seed if source is None else resolved.pretrain.seed
    spec = resolved.spec
    model = build_model(spec, run.encoder, seed=seed or 0, **texts.of_the_vocabulary(spec.text.template))
    if source is None:
        named = resolved.spec.training.weights
        if named is not None and named != RANDOM:
            load_published(model, locate_weights(named).read())
        return model
    path = place.weights_of(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Several devices make lost weights again together, so none of them may wait for another at the lock.
    with FileLock(path.with_suffix(".lock")) if machine.devices == 1 else nullcontext():
        if path.is_file():
            load_weights(model, path)
            return model
        part = replace(machine, folder=machine.folder / "pretrain", watch=None)
        again, _, _ = pretrain_model(place.runs[source], resolved, texts, place, part)
        if machine.rank == 0:
            save_weights(again, path)
    return again.train()


@dataclass(frozen=True)
class Tuned:
    """A fine-tuning that was carried out: what it left, on which data, at which rate out of which that were tried."""

    done: Finetuned
    data: FinetuningData
    rate: float
    tried: list[Point]


def tune(run: Run, place: Workplace, machine: Machine, *, keep_best: bool) -> Tuned:
    """Fine-tunes a model on a task; `keep_best`: so that its best weights can be put back."""
    resolved = place.model(run.model)
    texts = place.materials.texts(resolved)
    task_data = place.materials.task_data(str(run.task))
    recipe = resolved.recipe(str(run.task))
    resolved = replace(resolved, finetune=recipe)
    job = Job(resolved.spec, recipe, int(run.seed or 0), keep_best)

    def prepared(data: TaskData) -> tuple[Model, FinetuningData]:
        model = pretrained_model(run, resolved, texts, place, machine)
        return model, finetuning_data(data, resolved, texts, job.seed, place.materials.cache, machine)

    rate, tried = best_learning_rate(job, lambda: prepared(task_data.held_out(seed=0)), machine)
    model, data = prepared(task_data)
    return Tuned(finetune(model, data, job, learning_rate=rate, machine=machine), data, rate, tried)


def do_finetuning(run: Run, place: Workplace, machine: Machine) -> Result:
    """Fine-tunes a model on a task and stores every evaluation and the predictions of the best and the last."""
    experiment = place.loaded.experiment
    keep, robust = experiment.keep_weights == "best", bool(experiment.robustness)
    tuned = tune(run, place, machine, keep_best=keep or robust)
    done, data = tuned.done, tuned.data
    resolved, task_data = place.model(run.model), place.materials.task_data(str(run.task))
    recipe, texts = resolved.recipe(str(run.task)), place.materials.texts(resolved)
    facts = [
        Metric("best_step", done.best.step),
        Metric("last_step", done.last.step),
        Metric("steps_done", done.steps),
        Metric("train_rows", len(task_data.splits["train"])),
    ]
    if run.spec["pretrain"] is None:  # else the pre-training has noted them
        n, rows = task_data.n_outputs, texts.vocabulary_rows
        counts = count(resolved.spec, run.encoder, n_classes=n, vocabulary_rows=rows)
        facts += [Metric("total_params", counts.total), Metric("emb_params", counts.embedding)]
    if tuned.tried:
        facts += [Metric("learning_rate", tuned.rate)]
    points = [*tuned.tried, *done.points]
    outputs = final_outputs(done, data, points, machine, recipe.precision)
    if machine.rank > 0:
        return Result()
    files: dict[str, Path] = {}
    if keep or robust:
        files = save_best(done, place.artifacts / run.id if keep else place.kept_until_robust(run.id))
    artifacts = [artifact(each, kind, place.artifacts) for kind, each in files.items()] if keep else []
    metrics = [*facts, *metrics_of(points)]
    notes = notes_of(task_data) | {"precision_found": precision_found(recipe.precision, machine.device)}
    return Result(metrics=metrics, predictions=outputs, artifacts=artifacts, notes=notes)


def save_best(done: Finetuned, folder: Path) -> dict[str, Path]:
    """Writes model and head as they were at the best evaluation; the files by kind."""
    restore_best(done)
    done.model.embedding.widen()
    files = {"weights": folder / "weights.safetensors", "head": folder / "head.safetensors"}
    save_weights(done.model, files["weights"])
    save_weights(done.head, files["head"])
    return files


def finetuning_data(
    data: TaskData, model: ResolvedModel, texts: Texts, seed: int, cache: Path, machine: Machine
) -> FinetuningData:
    """A task's rows as this model reads them."""
    recipe = model.finetune
    return FinetuningData(
        data,
        texts.tokenizer,
        texts.coder,
        template=model.spec.text.template,
        batch_size=recipe.batch_size,
        max_length=recipe.max_length,
        pad_to_max=recipe.pad_to_max,
        seed=seed,
        world_size=machine.devices,
        rank=machine.rank,
        folder=cache,
    )


def final_outputs(
    done: Finetuned, data: FinetuningData, points: list[Point], machine: Machine, precision: Precision
) -> list[Predictions]:
    """Predictions of the best and the last evaluation; splits that are only reported are read once, with the best."""
    best = dict(done.best.outputs)
    if data.test_splits:
        restore_best(done)
        best |= report_once(done, data, points, machine, precision)
    kept = [("best", split, values) for split, values in best.items()]
    kept += [("last", split, values) for split, values in done.last.outputs.items()]
    return [
        predictions(split, checkpoint, values, data.targets(split)) for checkpoint, split, values in kept
    ]


def do_floor(run: Run, place: Workplace, machine: Machine) -> Result:
    """The score that a model must beat, of a trivial baseline."""
    data = place.materials.data(str(run.task))
    results = data.task.kind.predictions(run.model, data)
    metrics = [Metric("best_step", 0), Metric("last_step", 0)]
    for split, result in results.items():
        metrics += scored_metrics(data.task, result, split)
    kept = [
        predictions(split, checkpoint, *result) for split, result in results.items() for checkpoint in ("best", "last")
    ]
    return Result(metrics=metrics, predictions=kept, notes=notes_of(data))


def scored_metrics(task: Task, result: Outputs, split: str, step: int = 0) -> list[Metric]:
    """Every score of the outputs on a split as the store takes it."""
    return [
        Metric(score.metric, score.value, split=split, step=step, reason=score.reason, condition=score.condition)
        for score in task.kind.scores(task, result)
    ]


def do_efficiency(run: Run, place: Workplace, machine: Machine) -> Result:
    """Parameters, bytes, times and memory of a model, in turn with the baseline."""
    asked = Efficiency.model_validate(run.spec["efficiency"])
    labels = (run.model, place.loaded.experiment.baseline)
    model, baseline = (contender(place.model(label), place.materials) for label in labels)
    tasks = [place.materials.task_data(str(task["name"])) for task in run.spec["tasks"]]
    setting = Setting(
        size=run.encoder,
        asked=asked,
        device=device_of(machine.device),
        cache=place.materials.cache,
    )
    place.materials.cache.mkdir(parents=True, exist_ok=True)
    with FileLock(place.materials.cache / "measuring.lock"):  # two measurements at once would time each other
        facts = measure(model, baseline, tasks, setting)
    return Result(metrics=[Metric(fact.name, fact.value, split=fact.split) for fact in facts])


def contender(resolved: ResolvedModel, materials: Materials) -> Contender:
    """A model of the experiment as an efficiency run takes it."""
    texts = materials.texts(resolved)
    return Contender(
        resolved.spec,
        texts.tokenizer,
        texts.coder,
        texts.corpus,
        texts.vocabulary_rows,
        resolved.pretrain,
        resolved.finetune,
        texts.outputs,
    )


def metrics_of(points: list[Point]) -> list[Metric]:
    """Points of curves as the store takes them."""
    return [Metric(p.name, p.value, split=p.split, step=p.step, reason=p.reason) for p in points]


def predictions(split: str, checkpoint: str, outputs: np.ndarray, targets: np.ndarray) -> Predictions:
    """One array of predictions with a fingerprint of the rows they belong to."""
    fingerprint = hashlib.sha256(np.ascontiguousarray(targets).tobytes()).hexdigest()[:16]
    return Predictions(split, checkpoint, outputs, targets, fingerprint)  # type: ignore[arg-type]


def notes_of(data: TaskData | LinkSet) -> dict[str, str]:
    """What a table must say about results on these data."""
    return {"origin": data.origin, "data": "; ".join(data.notes)}


def artifact(path: Path, kind: str, root: Path) -> Artifact:
    """A file under the artifact root as the store names it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Artifact(kind, path.relative_to(root).as_posix(), path.stat().st_size, digest)
