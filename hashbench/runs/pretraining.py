"""Pre-training of a model on corpora; it serves all fine-tunings and seeds of the model."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from hashbench.coders.cache import type_codes
from hashbench.data.corpus_batches import PretrainingData
from hashbench.efficiency.parameters import count
from hashbench.experiment.hardware import SETTINGS
from hashbench.experiment.models import ResolvedModel
from hashbench.experiment.resolved import ResolvedExperiment
from hashbench.runs.artifacts import ArtifactFolder
from hashbench.runs.base import Run, TrainingKind, Workplace
from hashbench.runs.results import stored_points
from hashbench.store.result import MetricRow, Result
from hashbench.training.heads import make_head
from hashbench.training.machine import Machine
from hashbench.training.model import Model, build_model, load_weights, save_weights
from hashbench.training.pretraining import Pretrained, pretrain
from hashbench.training.recipe import precision_found

# Keys of schema.Pretrain that stand elsewhere in the spec: in the corpus, the tokenizer and the seed.
ELSEWHERE = {"corpora", "max_documents", "first_chunk_only", "vocabulary_size", "vocabulary", "seed"}
# Values of a model that its pre-training does not know.
OF_THE_HEAD = {"pooling", "dense_head", "dense_dropout"}


class Pretraining(TrainingKind):
    """Each model with an objective on corpora is trained once."""

    name = "pretrain"
    order = 10

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return [run for model in resolved.models.values() if (run := self.of(resolved, model))]

    def of(self, resolved: ResolvedExperiment, model: ResolvedModel) -> Run | None:
        """The pre-training of a model, or None where it has none."""
        if not model.spec.pretrains:
            return None
        recipe = model.pretrain
        block = resolved.model_block(model)
        spec = {
            "model": {key: value for key, value in block.items() if key not in OF_THE_HEAD},
            "corpus": resolved.corpus_block(model),
            "pretrain": recipe.model_dump(exclude=ELSEWHERE | SETTINGS),
            "seed": recipe.seed,
            "threads": resolved.experiment.threads,
        }
        return self.make(resolved, model.label, spec, seed=recipe.seed)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Pre-trains a model and stores its weights, its parameter counts and its loss curve."""
        model = place.model(run)
        done = train(run, place, machine)
        if machine.rank > 0:
            return Result()
        path = place.artifacts.files(run.id).weights
        save_weights(done.model, path)
        rows = place.materials.texts(model).vocabulary_rows
        counts = count(model.spec, run.encoder, vocabulary_rows=rows)
        facts = [
            MetricRow("total_params", counts.total),
            MetricRow("emb_params", counts.embedding),
            MetricRow("weight_bytes", path.stat().st_size),
            MetricRow("steps_done", done.steps),
            MetricRow("tokens_per_second", done.tokens_per_second),
        ]
        return Result(
            metrics=[*facts, *stored_points(done.points)],
            artifacts=[place.artifacts.stored("weights", path)],
            notes={
                "precision_found": precision_found(model.pretrain.precision, machine.device),
                "corpora": " and ".join(place.materials.texts(model).corpora_read()),
            },
        )

    def tokens(self, run: Run, rows: int) -> float:
        recipe = run.spec["pretrain"]
        return float(recipe["steps"] * recipe["batch_size"] * recipe["sequence_length"])

    def headline(self, result: Result) -> str:
        """The last loss."""
        losses = [metric.value for metric in result.metrics if (metric.split, metric.name) == ("train", "loss")]
        return f"loss {losses[-1]:.3f}" if losses and losses[-1] is not None else ""

    def temporary_files(self, run: Run, artifacts: ArtifactFolder) -> list[Path]:
        """The weights; a run of another sweep that needs them makes them again."""
        return [artifacts.files(run.id).weights]


def train(run: Run, place: Workplace, machine: Machine) -> Pretrained:
    """Trains the model of a pre-training."""
    model = place.model(run)
    spec, recipe, texts = model.spec, model.pretrain, place.materials.texts(model)
    objective = spec.training.objective
    assert objective is not None and spec.pretrains  # the plan makes no pre-training of others
    assert texts.corpus is not None
    built = build_model(spec, run.encoder, seed=recipe.seed, **texts.of_the_vocabulary(spec.text.template))
    head = make_head(built, objective)
    data = PretrainingData(
        texts.corpus,
        type_codes(texts.coder, texts.corpus.types, place.materials.cache / "codes"),
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
    return pretrain(built, head, data, recipe, total_steps=steps, machine=machine)


def restore(model: Model, run: Run, place: Workplace, machine: Machine) -> Model:
    """The model with the weights of a finished pre-training; lost ones are made again, while the results stay."""
    path = place.artifacts.files(run.id).weights
    path.parent.mkdir(parents=True, exist_ok=True)
    # Several devices make lost weights again together, so none of them may wait for another at the lock.
    with FileLock(path.with_suffix(".lock")) if machine.devices == 1 else nullcontext():
        if path.is_file():
            load_weights(model, path)
            return model
        part = replace(machine, folder=machine.folder / "pretrain", watch=None)
        again = train(run, place, part).model
        if machine.rank == 0:
            save_weights(again, path)
    return again.train()


KIND = Pretraining()
