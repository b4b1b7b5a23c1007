"""Pre-training of a model on corpora; it serves all fine-tunings and seeds of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.models.coders.base import type_codes
from hashbench.models.objectives.base import objective_of, pretrains
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import SETTINGS
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder, ModelFiles, objective_head
from hashbench.running.runs.base import TrainingKind, Workplace, weight_bytes
from hashbench.running.training.devices import precision_found
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, load_weights, make_head, save_weights
from hashbench.store.planning import Run
from hashbench.store.result import Result

if TYPE_CHECKING:
    from hashbench.data.sources.loader import LoadedData
    from hashbench.models.objectives.base import Head
    from hashbench.running.training.pretraining import Pretrained, PretrainingModule

# Keys of Pretrain that are elsewhere in the spec: in the corpus, the tokenizer and the seed.
ELSEWHERE = {
    "corpora", "max_documents", "first_chunk_only", "vocabulary_size", "vocabulary", "seed", "seeds", "checkpoints",
}  # fmt: skip
# Values of a model that its pre-training does not know.
OF_THE_HEAD = {"pooling", "dense_head", "dense_dropout"}
# Key of a spec: the step at which the weights of a training are taken.
CHECKPOINT = "checkpoint"
# Kind of the file with the head of the objective; "head" is the head of a fine-tuning.
OBJECTIVE_HEAD = "objective_head"

# Tokens of a word between white space, for estimates: 1.2 of the tokenizer `words`, 2.2 of a small vocabulary
TOKENS_PER_WORD = 2
# Tokens. At tiny a step of this length takes half a second; preparing its operations anew takes 1 % of that.
LONG_STEP = 16_384


class Pretraining(TrainingKind):
    """Kind of run: the pre-training of a model with an objective on corpora, once for all tasks and seeds.

    An earlier step of a training that the experiment requests is another run, so that models can be fine-tuned from
    it. Its weights are what the training left at this step; they are made again where they are missing.
    """

    name = "pretrain"
    metrics = "none"
    order = 10
    gives_signs = True
    # An earlier step comes after a later one, and reads nothing of it.
    reads_needs = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        """All pre-trainings, seed by seed, so that a table fills evenly for all models."""
        seeds = {label: model.pretrain.all_seeds for label, model in resolved.models.items()}
        return [
            run
            for turn in range(max(map(len, seeds.values()), default=0))
            for label, model in resolved.models.items()
            if turn < len(seeds[label]) and (run := self.of(resolved, model, seeds[label][turn]))
        ]

    def of(self, resolved: ResolvedExperiment, model: ResolvedModel, seed: int | None = None) -> Run | None:
        """The run that pre-trains a model with a seed (None: its first), or None where it has no pre-training."""
        if not pretrains(model.spec):
            return None
        seed = model.pretrain.all_seeds[0] if seed is None else seed
        recipe, size = model.pretrain, resolved.experiment.encoder
        block = resolved.model_block(model)
        spec = {
            "model": {key: value for key, value in block.items() if key not in OF_THE_HEAD},
            "corpus": resolved.corpus_block(model),
            "pretrain": recipe.model_dump(exclude=ELSEWHERE | SETTINGS),
            "seed": seed,
            "threads": resolved.experiment.threads,
        }
        if model.checkpoint is None:
            return self.make(size, model.label, spec, seed=seed)
        # The later ones first: weights that are missing are made in one training, and the earlier ones on its way.
        later = [step for step in recipe.checkpoints if step > model.checkpoint]
        after = self.of(resolved, replace(model, checkpoint=min(later, default=None)), seed)
        needs = (after.id,) if after is not None else ()
        return self.make(size, model.label, {**spec, CHECKPOINT: model.checkpoint}, seed=seed, needs=needs)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Pre-trains, unless a checkpoint is there already; returns saved weights, parameter counts and loss curve."""
        model, path = place.model(run), weights_of(run, place.artifacts)
        earlier = {step: files_of(run, place.artifacts).at(step) for step in steps_on_the_way(run, place.runs.values())}
        done = None
        if CHECKPOINT not in run.spec or not place.artifacts.has(path):
            done = train(run, place, machine, earlier)
        if machine.rank > 0:
            return Result()
        if done is not None:
            if CHECKPOINT not in run.spec:
                save_weights(done.model, path)
                save_weights(done.head, objective_head(path))
            for weights in earlier.values():
                for file in filter(Path.is_file, (weights, objective_head(weights))):
                    place.artifacts.share(file)
        rows = place.materials.texts(model).vocabulary_rows
        counts = count(model.spec, run.encoder, vocabulary_rows=rows)
        facts = [
            MetricRow("total_params", counts.total),
            MetricRow("emb_params", counts.embedding),
            MetricRow("weight_bytes", path.stat().st_size),
            MetricRow("steps_done", done.steps if done is not None else run.spec[CHECKPOINT]),
        ]
        if done is not None:
            facts += [MetricRow("tokens_per_second", done.tokens_per_second), *done.points, *done.facts]
        return Result(
            metrics=facts,
            artifacts=[place.artifacts.stored(kind, file) for kind, file in kept_of(path).items()],
            notes={
                "precision_found": precision_found(model.pretrain.precision, machine.device),
                "corpora": " and ".join(place.materials.texts(model).corpora_read()),
            },
        )

    def parts(self, run: Run, place: Workplace, machine: Machine) -> tuple[PretrainingModule, LoadedData]:
        from hashbench.running.training.module import Curves
        from hashbench.running.training.pretraining import PretrainingModule

        built, head, data, steps = begun(run, place, machine)
        recipe = place.model(run).pretrain.recipe()
        return PretrainingModule(built, head, recipe, total_steps=steps, curves=Curves(steps)), data

    def has_long_steps(self, run: Run) -> bool:
        recipe = run.spec["pretrain"]
        return bool(recipe["batch_size"] * sequence_tokens(recipe) >= LONG_STEP)

    def kept_bytes(self, run: Run, resolved: ResolvedExperiment) -> int:
        """About how many bytes of weights are kept: a fine-tuned model's, or 0 with `keep_weights: none`."""
        kept = resolved.experiment.keep_weights != "none"
        return weight_bytes(resolved.model(run.model), run.encoder) if kept else 0

    def headline(self, result: Result) -> str:
        """The last loss, as "loss 2.345"."""
        losses = [metric.value for metric in result.metrics if (metric.split, metric.name) == ("train", "loss")]
        return f"loss {losses[-1]:.3f}" if losses and losses[-1] is not None else ""

    def left_files(self, run: Run, artifacts: ArtifactFolder) -> list[dict[str, Path]]:
        return [{"weights": weights_of(run, artifacts)}]

    def temporary_files(self, run: Run, artifacts: ArtifactFolder) -> list[Path]:
        """The files of the weights, which another sweep makes again if it needs them."""
        weights = weights_of(run, artifacts)
        return [weights, objective_head(weights)]


def kept_of(weights: Path) -> dict[str, Path]:
    """The files of a pre-training that are there, by kind; one of an earlier version kept no head."""
    head = objective_head(weights)
    return {"weights": weights} | ({OBJECTIVE_HEAD: head} if head.is_file() else {})


def sequence_tokens(recipe: Mapping[str, Any]) -> int:
    """About how many tokens a sequence of a pre-training recipe has; rows of words are taken for rows of pieces."""
    words = recipe["words_per_row"] if "words_per_row" in recipe else None
    return recipe["sequence_length"] if words is None else min(recipe["sequence_length"], TOKENS_PER_WORD * words)


def whole_id(run: Run) -> str:
    """The id of the whole pre-training to which a run, its end or an earlier step, belongs."""
    return run_id({key: value for key, value in run.spec.items() if key != CHECKPOINT})


def steps_on_the_way(run: Run, runs: Iterable[Run]) -> list[int]:
    """The earlier steps of a run's pre-training that any model wants of those that share it."""
    whole = whole_id(run)
    of_kind = [other for other in runs if other.kind == run.kind and CHECKPOINT in other.spec]
    return sorted({int(other.spec[CHECKPOINT]) for other in of_kind if whole_id(other) == whole})


def files_of(run: Run, artifacts: ArtifactFolder) -> ModelFiles:
    """The files of the whole pre-training to which a run, its end or an earlier step, belongs."""
    return artifacts.files(whole_id(run))


def weights_of(run: Run, artifacts: ArtifactFolder) -> Path:
    """The file of a pre-training's weights, at its end or at the run's step."""
    files = files_of(run, artifacts)
    return files.at(run.spec[CHECKPOINT]) if CHECKPOINT in run.spec else files.weights


def begun(run: Run, place: Workplace, machine: Machine) -> tuple[Model, Head, LoadedData, int]:
    """The model of a pre-training with fresh weights, the head of its objective, its batches and number of steps."""
    model = place.model(run)
    objective = model.spec.training.objective
    assert objective is not None and pretrains(model.spec)  # the plan makes no pre-training of others
    built = place.materials.texts(model).build(model.spec, run.encoder, seed=model.pretrain.seed)
    return built, make_head(built, objective, model.spec.training.args), *batches_of(model, place, machine)


def train(run: Run, place: Workplace, machine: Machine, earlier: Mapping[int, Path] | None = None) -> Pretrained:
    """Trains the model of a pre-training up to the run's step; `earlier`: files for the weights by step on the way."""
    from hashbench.running.training.pretraining import pretrain

    recipe = place.model(run).pretrain
    built, head, data, steps = begun(run, place, machine)
    stop_at = run.spec[CHECKPOINT] if CHECKPOINT in run.spec else None
    if recipe.checkpoints and recipe.checkpoints[-1] > steps:
        what = f"pretrain.checkpoints: {recipe.checkpoints[-1]} is behind the last step, {steps}"
        raise InputError(f"{what}: the corpus ends there after max_epochs = {recipe.max_epochs} passes")
    snapshots = {step: {path: built, objective_head(path): head} for step, path in (earlier or {}).items()}
    return pretrain(
        built, head, data, recipe.recipe(), total_steps=steps, machine=machine, stop_at=stop_at, snapshots=snapshots
    )


def batches_of(model: ResolvedModel, place: Workplace, machine: Machine) -> tuple[LoadedData, int]:
    """Batches of a pre-training, and its number of steps."""
    from hashbench.data.corpora.pretraining_data import PretrainingData, StreamedData

    spec, recipe, texts = model.spec, model.pretrain, place.materials.texts(model)
    objective = objective_of(spec)
    assert objective is not None  # the plan makes no pre-training of others
    common: dict[str, Any] = {
        "objective": objective,
        "objective_args": objective.corruption_args(spec.training.args),
        "outputs": texts.outputs,
        "template": spec.text.template,
        "batch_size": recipe.batch_size,
        "sequence_length": recipe.sequence_length,
        "seed": recipe.seed,
        "world_size": machine.devices,
        "rank": machine.rank,
    }
    if texts.corpus is None:
        shards = [shard for source in texts.streamed for shard in source.shards(recipe.max_documents)]
        common |= {"steps": recipe.steps, "epochs": recipe.max_epochs}
        return StreamedData(shards, texts.tokenizer, texts.coder, **common), recipe.steps
    codes = type_codes(texts.coder, texts.corpus.types, place.materials.cache / "codes")
    data = PretrainingData(texts.corpus, codes, **common)
    return data, min(recipe.steps, data.steps_per_epoch * recipe.max_epochs)


def restore(model: Model, run: Run, place: Workplace) -> Model:
    """The model with the weights of a finished pre-training, which the worker has made sure are on its machine."""
    path = weights_of(run, place.artifacts)
    if not place.artifacts.has(path):
        raise InputError(f"{path}: is not here; sweep again, and with devices of several machines give --artifacts URL")
    load_weights(model, path)
    return model


KIND = Pretraining()
