"""An experiment with its models resolved and its data located, and the parts of run specs made from it.

The parts of specs are plain values, equal from the file and from the database.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from hashbench.common.showing import FINGERPRINT_LETTERS
from hashbench.data.sources.documents import CorpusSource
from hashbench.data.sources.weights import RANDOM, locate_weights
from hashbench.data.tasks.base import LocatedTask, Task
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import Embedding, ModelSpec
from hashbench.models.embeddings.registry import embedding_arguments
from hashbench.models.objectives.base import objective_of, pretrains, reads_items
from hashbench.models.text.base import CORPUS, Tokenizer, make_tokenizer
from hashbench.running.experiment.exported import state_at
from hashbench.running.experiment.file_blocks import Tuning
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.schema import Experiment

SummaryRow = dict[str, str | int | float | None]
OF_WORDS = {"max_documents", "first_chunk_only"}  # what of the corpora counts as seen


@dataclass(frozen=True)
class ResolvedExperiment:
    """An experiment with its models resolved and its tasks and corpora located, from which its runs are planned."""

    experiment: Experiment
    models: Mapping[str, ResolvedModel]  # by label, in the order of the file
    baseline: ResolvedModel  # need not be among the models
    tasks: tuple[LocatedTask, ...]
    corpora: Mapping[str, CorpusSource]  # by name
    sources: tuple[str, ...]  # "hub", "builtin" or folders, in order
    # How values were chosen, as far as the file says: by label, by name.
    tuned: Mapping[str, Mapping[str, Tuning]] = field(default_factory=dict)
    # Tasks on whose training texts vocabularies are learned, by name.
    learned: Mapping[str, LocatedTask] = field(default_factory=dict)
    # Texts with other forms of them (`robustness.pairs`), by the name of their task.
    pairs: Mapping[str, LocatedTask] = field(default_factory=dict)
    # Blocks that were made before: a BPE file is read for one.
    _blocks: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    def model(self, label: str) -> ResolvedModel:
        """The model of a label, which may be the baseline's. Raises KeyError for an unknown one."""
        return self.baseline if label == self.baseline.label and label not in self.models else self.models[label]

    def trainings(self, wanted: Callable[[Task], bool]) -> Iterator[tuple[LocatedTask, ResolvedModel, int]]:
        """Task, model and seed of all trainings on the tasks that are wanted, so that a table fills evenly.

        Seed by seed, the experiment's seeds first, and task by task.
        """
        tasks = [task for task in self.tasks if wanted(task.task)]
        pairs = [
            (task, model)
            for task in tasks
            for model in self.models.values()
            if model.train_rows is None or not task.task.kind.reads_items  # only rows of texts are drawn
        ]
        of_pairs = [model.seeds(task.task.name, self.experiment.seeds) for task, model in pairs]
        for seed in dict.fromkeys((*self.experiment.seeds, *chain.from_iterable(of_pairs))):
            for (task, model), seeds in zip(pairs, of_pairs, strict=True):
                if seed in seeds:
                    yield task, model, seed

    def tuning_of(self, label: str) -> dict[str, dict[str, Any]]:
        """The file's declarations of how values of a model were chosen (keys tried, on, by), by name of the value."""
        declared = self.tuned.get(label, {})
        return {name: tuning.model_dump(mode="json") for name, tuning in declared.items()}

    def model_block(self, model: ResolvedModel) -> dict[str, Any]:
        """A model as plain values: its tokenizer and coder by their recipes, published weights by their content.

        Its name is not part of it, so that two labels of one thing share their runs.
        """
        if model.label not in self._blocks:
            self._blocks[model.label] = model_block(model, self.experiment.encoder)
        return self._blocks[model.label]

    def corpus_block(self, model: ResolvedModel) -> dict[str, Any] | None:
        """The part of a spec on the texts that a model learns from, apart from its task; None for one that has none.

        Those are the corpora, and tasks on whose training texts its vocabulary is learned.
        """
        read = needs_corpus(model.spec)
        if not (read or model.learned_on):
            return None
        block = {
            "corpora": self.fingerprints(model.pretrain.corpora) if read else [],
            "max_documents": model.pretrain.max_documents if read else None,
            "first_chunk_only": model.pretrain.first_chunk_only and read,
        }
        learned = [{**task_block(task), "fingerprint": task.fingerprint} for task in self.tasks_learned(model)]
        return {**block, "tasks": learned} if learned else block

    def tasks_learned(self, model: ResolvedModel) -> list[LocatedTask]:
        """The tasks on whose training texts a model's vocabulary is learned."""
        return [self.learned[task.name] for task in model.learned_on]

    def seen_words(self) -> dict[str, object] | None:
        """The part of a spec with the corpora whose words count as seen for every model; None if no model reads any."""
        if not self.corpora:
            return None
        pretrain = self.experiment.pretrain
        return {"corpora": self.fingerprints(pretrain.corpora), **pretrain.model_dump(include=OF_WORDS)}

    def fingerprints(self, names: tuple[str, ...]) -> list[dict[str, str]]:
        """Name and fingerprint of each of these corpora, without their folders."""
        corpora = [self.corpora[name] for name in dict.fromkeys(names)]
        return [{"name": corpus.name, "fingerprint": corpus.fingerprint} for corpus in corpora]


def task_block(task: LocatedTask) -> dict[str, Any]:
    """The part of a spec on a task: its name and, for a user's data set, its columns and metric, but not its path."""
    if not task.task.is_own:
        return {"name": task.task.name}
    block: dict[str, Any] = {
        "name": task.task.name,
        "text": list(task.task.text),
        "label": task.task.label,
        "metric": task.task.select_metric,
    }
    written = {
        "labels": [list(pair) for pair in task.task.labels],
        "positive": task.task.positive,
        "separator": task.task.separator,
    }
    return block | {key: value for key, value in written.items() if value}


def weights_setting(spec: ModelSpec) -> dict[str, Any]:
    """The part of a spec with the name of published weights, for tables; it is outside the run's identity."""
    if spec.training.weights is None or spec.training.weights == RANDOM:
        return {}
    return {"settings": {"weights": locate_weights(spec.training.weights).shown}}


def model_block(model: ResolvedModel, size: str) -> dict[str, Any]:
    """The part of a spec on a model at an encoder size: all of it that belongs to a run's identity, as plain values."""
    spec, objective = model.spec, model.spec.training.objective
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    if tokenizer.needs_training:
        # What is derived has its recipe in the identity.
        tokenizer.vocabulary_size = model.pretrain.vocabulary_size
    weights: object = spec.training.weights
    if spec.training.weights is not None and spec.training.weights != RANDOM:
        weights = {"sha256": locate_weights(spec.training.weights).fingerprint()}
    block = {
        "embedding": spec.embedding.family.stored_name(),
        "embedding_args": embedding_arguments(spec),
        "tokenizer": tokenizer.recipe(),
        "coder": make_coder(spec.code.coder, **spec.code.args).recipe(),
        "encoder": {"kind": spec.encoder.kind, "size": size, **spec.encoder.args},
        "objective": None if objective is None else {"kind": objective, **spec.training.args},
        "pooling": spec.head.pooling,
        "dense_head": spec.head.dense,
        "dense_dropout": spec.head.dense_dropout,
        "weights": weights,
        "template": asdict(spec.text.template),
        "version": spec.version,
        "code": own_code(spec.embedding.family),
        "below": _below(spec),
        "initial_spread": spec.initial_spread,
    }
    return plain(block)


def _below(spec: ModelSpec) -> dict[str, Any] | None:
    """The part of a spec on the embedding on which a model's embedding is built; None where there is none."""
    below = spec.below()
    if below is None:
        return None
    name = below.embedding.family.stored_name()
    return {"embedding": name, "embedding_args": embedding_arguments(below), "below": _below(below)}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON returns them, with lists for tuples, equal to those read from the database."""
    copied: dict[str, Any] = json.loads(json.dumps(values))
    return copied


def own_code(embedding: type[Embedding]) -> str | None:
    """SHA-256 of the file of a user-defined embedding; None for one of the suite, which has a `version` instead."""
    source = Path(inspect.getfile(embedding)).resolve()
    package = Path(__file__).resolve().parents[2]
    if source.is_relative_to(package):
        return None
    return hashlib.sha256(source.read_bytes()).hexdigest()


def needs_corpus(spec: ModelSpec) -> bool:
    """True where a model learns anything from the corpora: weights, a vocabulary, or a dictionary of its coder."""
    if pretrains(spec):
        return True
    if reads_items(spec):  # its items and maps are made of the page-link set
        return False
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    if learns_on_corpora(tokenizer) or spec.training.weights is not None:
        # With weights its rows are the pieces that they came with.
        return learns_on_corpora(tokenizer)
    return _fits_on_corpora(spec, tokenizer)


def learns_on_corpora(tokenizer: Tokenizer) -> bool:
    """True where a tokenizer's vocabulary has yet to be learned, and corpora are among its texts."""
    return tokenizer.needs_training and CORPUS in tokenizer.learn_on


def _fits_on_corpora(spec: ModelSpec, tokenizer: Tokenizer) -> bool:
    """True where a coder learns from corpora, and not from the pieces that its tokenizer learns from other texts."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    return coder.needs_fit and not (tokenizer.needs_training and coder.fit_pieces(["a"]))


def read_without_corpus(spec: ModelSpec, learned: Tokenizer | None = None) -> tuple[Tokenizer, Coder]:
    """Tokenizer and coder of a model that learns nothing from corpora; the coder may take the tokenizer's pieces.

    Where the weights are an exported model's, it has the state of that model's coder.

    `learned`: the tokenizer, where its vocabulary was learned on other texts.
    """
    tokenizer = learned or make_tokenizer(spec.text.tokenizer, **spec.text.args)
    coder = make_coder(spec.code.coder, **spec.code.args)
    if state := state_at(spec.training.weights):
        coder.restore(state)
    else:
        coder.fit_pieces(tokenizer.pieces)
    return tokenizer, coder


def pass_before(spec: ModelSpec) -> str:
    """The reason why a model needs a pass over all texts before its training; empty where it needs none."""
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    objective = objective_of(spec)
    if learns_on_corpora(tokenizer):
        return f"its {tokenizer.title} is trained on them"
    if _fits_on_corpora(spec, tokenizer):
        return f"coder {spec.code.coder} learns from them what there is"
    if objective is not None and objective.targets == "rows":
        return f"objective {objective.name} predicts rows of a table of all types"
    return ""


def model_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model with tokenizer, coder and recipe; None for meaningless values, as epochs beside steps.

    `noise` in the training texts is there if any model has some.
    """
    tasks = [entry.task.name for entry in resolved.tasks if entry.task.kind.learned]
    noises = [_training_noise(model, tasks) for model in resolved.models.values()]
    rows = [_model_row(model) for model in resolved.models.values()]
    return [row | {"noise": noise} for row, noise in zip(rows, noises, strict=True)] if any(noises) else rows


def task_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each task with the origin of its data and its metric; none for pre-training alone."""
    return [_task_row(entry) for entry in resolved.tasks]


def _model_row(model: ResolvedModel) -> SummaryRow:
    trains = pretrains(model.spec)
    written = model.finetune.model_dump()  # with the lists that are searched
    return {
        "model": model.label,
        "tokenizer": model.spec.text.tokenizer,
        "coder": model.spec.code.coder,
        "objective": model.spec.training.objective or "none",
        "steps": model.pretrain.steps if trains else None,
        "pretrain_lr": model.pretrain.learning_rate if trains else None,
        "warmup": model.pretrain.warmup_steps if trains else None,
        "epochs": None if model.finetune.steps else _listed(written["epochs"]),
        "finetune_steps": _listed(written["steps"]),
        "finetune_lr": _listed(written["learning_rate"]),
    }


def _training_noise(model: ResolvedModel, tasks: Sequence[str]) -> str | None:
    """The noise in a model's training texts, with its tasks where not all have the same; None for none."""
    noises = {task: model.recipe(task).noise for task in tasks}
    texts = {task: f"{noise.kind} {noise.rate:g}" for task, noise in noises.items() if noise is not None}
    of_each = {text: [task for task in texts if texts[task] == text] for text in texts.values()}
    parts = [text if len(of) == len(tasks) else f"{text} ({', '.join(of)})" for text, of in of_each.items()]
    return "; ".join(parts) or None


def _listed(value: Any) -> Any:
    """A value of a recipe, or the values that are searched in one text."""
    return ", ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else value


def _task_row(entry: LocatedTask) -> SummaryRow:
    return {
        "task": entry.task.name,
        "from": entry.origin,
        "metric": entry.task.select_metric,
        "data": entry.fingerprint[:FINGERPRINT_LETTERS],
    }
