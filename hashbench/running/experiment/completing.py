"""Values that an entry of a model leaves open, from its encoder, its recipes and published weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hashbench.common.errors import InputError, located
from hashbench.data.sources.weights import RANDOM, locate_weights
from hashbench.data.tasks.split_facts import length_that_keeps
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import ModelSpec, Template
from hashbench.models.embeddings.registry import with_dim
from hashbench.models.encoders.base import find_architecture
from hashbench.models.objectives.base import objectives, reads_items
from hashbench.models.text.base import Tokenizer, find_tokenizer
from hashbench.running.experiment.exported import spread_at, with_vocabulary_of
from hashbench.running.experiment.file_values import KeyPath
from hashbench.running.experiment.load import Loaded, validate
from hashbench.running.experiment.recipes import Finetune, Pretrain
from hashbench.running.experiment.schema import ModelEntry
from hashbench.running.experiment.sizing import encoder_width

# Arguments that name a vocabulary of subwords: a file, or one of the hub.
FILE_KEYS = {"bpe", "lsh_bpe", "vocab"}
# By size of the encoder. At base the value of HashFormers, table 5; it does not train small encoders.
FINETUNE_LEARNING_RATE = {"tiny": 5e-4, "mini": 3e-4, "small": 1e-4, "medium": 5e-5, "base": 3e-5}
WARMUP_STEPS = 10_000  # HashFormers, table 4
WARMUP_SHARE = 0.06  # a warm-up is at most this share of the steps unless the file sets one


def complete_pretrain(pretrain: Pretrain, *, objective: str, encoder: str) -> Pretrain:
    """The recipe with learning rate and warm-up set where the file leaves them open.

    >>> complete_pretrain(Pretrain(steps=1000), objective="mlm", encoder="base").warmup_steps
    60
    """
    changes: dict[str, float | int] = {}
    if pretrain.learning_rate is None:
        changes["learning_rate"] = objectives()[objective].learning_rates[encoder]
    if pretrain.warmup_steps is None:
        changes["warmup_steps"] = min(WARMUP_STEPS, int(WARMUP_SHARE * pretrain.steps))
    return pretrain.model_copy(update=changes)


def complete_finetune(finetune: Finetune, *, encoder: str) -> Finetune:
    """The recipe with a learning rate set where the file leaves it open.

    >>> complete_finetune(Finetune(), encoder="base").learning_rate
    3e-05
    """
    if finetune.learning_rate is not None:
        return finetune
    return finetune.model_copy(update={"learning_rate": FINETUNE_LEARNING_RATE[encoder]})


def files_beside(loaded: Loaded, args: dict[str, Any], where: str) -> dict[str, Any]:
    """The arguments with paths of vocabulary files made absolute. Raises InputError for a missing file."""
    absolute = dict(args)
    for key in FILE_KEYS & set(args):
        name = str(args[key])
        path = loaded.folder / Path(name).expanduser()
        if path.exists():
            absolute[key] = str(path)
        elif path.suffix or name.startswith((".", "/", "~")):
            raise InputError(
                f"{where}: {key}: no such file {name!r}; it is relative to the experiment file, or a hub name"
            )
    return absolute


def with_parts_of_its_encoder(loaded: Loaded, spec: ModelSpec, entry: ModelEntry | None, place: KeyPath) -> ModelSpec:
    """The spec with what its encoder leaves no choice in. Raises InputError where its entry makes another choice."""
    kind = spec.encoder.kind
    with located(f"{loaded.where(*place, 'encoder')}: model '{spec.name}'"):
        architecture = find_architecture(kind)
    for key, reason in architecture.settled.items():
        if entry is not None and getattr(entry, key) not in (None, "none"):
            where = loaded.where(*place, key)
            raise InputError(f"{where}: model '{spec.name}': encoder {kind} {reason}; leave {key} out")
    return spec if reads_items(spec) else architecture.of_model(spec)


def starting_spread(
    loaded: Loaded, spec: ModelSpec, entry: ModelEntry | None, place: KeyPath
) -> float | Literal["matched"] | None:
    """The spread with which a model's word vectors begin: its entry's, else the experiment's.

    Published weights are left as they are; those of an exported model have its factors. Raises InputError where the
    model's own entry sets another.
    """
    own = None if entry is None else entry.initial_spread
    if spec.training.weights in (None, RANDOM):
        return own or loaded.experiment.initial_spread
    if own is not None:
        where = loaded.where(*place, "initial_spread")
        raise InputError(f"{where}: '{spec.name}' begins with published weights, which keep their spread; leave it out")
    return spread_at(spec.training.weights)


def with_coder_of_its_size(loaded: Loaded, spec: ModelSpec, place: KeyPath) -> ModelSpec:
    """The spec with its coder's `dim`, where it has one, set to the encoder's."""
    dim = encoder_width(loaded, spec, place)
    fitted = with_dim(spec, dim)
    if fitted is not spec and "dim" in spec.code.args and spec.code.args["dim"] != dim:
        problem = f"dim {spec.code.args['dim']!r}, but the encoder of '{spec.name}' has {dim}"
        where = loaded.where(*place, "coder")
        raise InputError(f"{where}: coder {spec.code.coder}: {problem}; leave dim out, it follows")
    return fitted


def with_vocabulary(loaded: Loaded, spec: ModelSpec, pretrain: Pretrain, place: KeyPath) -> ModelSpec:
    """The spec with the word pieces of its recipe, or the vocabulary of its published weights, in place of one trained
    on the corpora."""
    kind, weights = find_tokenizer(spec.text.tokenizer), spec.training.weights
    if kind is None or kind.argument is None or kind.argument in spec.text.args:
        return spec
    if weights is not None and weights != RANDOM and spec.training.objective is None:
        # A missing folder is reported before the hub is searched for a vocabulary.
        with located(f"{loaded.where(*place, 'weights')}: model '{spec.name}'"):
            locate_weights(weights)
        arguments = with_vocabulary_of(weights, kind.argument, spec.text.args)
        return replace(spec, text=replace(spec.text, args=arguments))
    if pretrain.vocabulary is None or not kind.from_recipe:
        return spec
    where = loaded.where(*loaded.place_of(place, "pretrain", "vocabulary"))
    arguments = {**spec.text.args, kind.argument: pretrain.vocabulary}
    return replace(spec, text=replace(spec.text, args=files_beside(loaded, arguments, where)))


def recipe_of(
    loaded: Loaded, block: type, key: str, spec: Mapping[str, Any], entry: Mapping[str, Any] | None, place: KeyPath
) -> Any:
    """The recipe of a model: the file's block for all models overrides the spec's differences, the entry both."""
    if entry:
        validate(block, entry, loaded, *place, key)
    return validate(block, {**spec, **(loaded.values.get(key) or {}), **(entry or {})}, loaded, key)


def input_length(
    finetune: Finetune, data: TaskData, tokenizer: Tokenizer, template: Template, cache: Path | None = None
) -> int:
    """The tokens of an input under a recipe, special tokens included: as it says, or as the train set needs."""
    if isinstance(finetune.max_length, int):
        return finetune.max_length
    limit = finetune.max_length
    return length_that_keeps(data, tokenizer, template, keep=limit.keep, at_most=limit.at_most, folder=cache)
