"""The description of an exported model: plain values in config.json, enough to build it again."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from inspect import getfile
from pathlib import Path
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.registry import is_own, modules_of
from hashbench.deployment.inputs import CONFIG, not_exported
from hashbench.models.embeddings.base import (
    CodeSpec,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    HeadSpec,
    ModelSpec,
    Template,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.registry import embedding_arguments, load_own
from hashbench.models.encoders.base import encoder_config
from hashbench.models.text.base import lasting
from hashbench.results.rendering.rows import json_text

FORMAT = 1  # of the folder
# Modules that are imported without a question: embeddings of the suite, which folders of earlier versions name by the
# second prefix.
SUITE, EARLIER = "hashbench.models.embeddings.", "hashbench.embeddings."
MODEL_PREFIX, HEAD_PREFIX = "model.", "head."  # of the names of tensors
WEIGHTS, TOKENIZER, STATE, CARD, OWN = "model.safetensors", "tokenizer", "coder.npz", "README.md", "embedding.py"


@dataclass(frozen=True)
class Config:
    """The contents of config.json. `labels`: names of the classes; one output without a name is a regression."""

    name: str
    run: str  # id
    size: str  # of the encoder
    spec: dict[str, Any]
    max_length: int
    task: str | None = None  # None: a pre-trained model without a head
    is_pair: bool = False
    n_outputs: int | None = None
    labels: tuple[str, ...] = ()
    # Classes by the numbers that they may have in data; () where no order was declared
    label_order: tuple[str, ...] = ()
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Writes config.json."""
        replace_text(folder / CONFIG, json_text(asdict(self)))


def read_config(folder: Path) -> Config:
    """The config of an exported model. Raises InputError for a folder that holds none, or one of a later format."""
    try:
        values = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        names = {field.name for field in fields(Config)}  # others are for other libraries
        own = {key: value for key, value in values.items() if key in names}
        order = tuple(values["label_order"]) if "label_order" in values else ()  # folders of earlier versions have none
        config = Config(**{**own, "labels": tuple(values["labels"]), "label_order": order})
    except (OSError, ValueError, TypeError, KeyError):
        raise not_exported(folder) from None
    if config.format != FORMAT:
        raise InputError(f"{folder}: exported in format {config.format}, this program reads {FORMAT}; export it again")
    return config


def spec_values(spec: ModelSpec, size: str, vocabulary_rows: int | None) -> dict[str, Any]:
    """A spec as plain values, with all defaults written out, since a later version may change them."""
    return {
        **_embedding_values(spec, vocabulary_rows),
        "tokenizer": spec.text.tokenizer,
        "tokenizer_args": lasting(spec.text.tokenizer, spec.text.args),
        "coder": spec.code.coder,
        "coder_args": spec.code.args,
        "encoder": spec.encoder.kind,
        "encoder_args": asdict(encoder_config(spec.encoder.kind, size, **spec.encoder.args)),
        "pooling": spec.head.pooling,
        "dense_head": spec.head.dense,
        "template": asdict(spec.text.template),
        **({} if spec.initial_spread is None else {"initial_spread": spec.initial_spread}),
    }


def _embedding_values(spec: ModelSpec, vocabulary_rows: int | None) -> dict[str, Any]:
    """The plain values of an embedding, with those of the embedding that it is built over under "below"."""
    family, below = spec.embedding.family, spec.below()
    place = OWN if is_own(family.__module__) else family.__module__
    values = {
        "embedding": f"{place}:{family.stored_name()}",
        "embedding_args": embedding_arguments(spec, vocabulary_rows=vocabulary_rows),
    }
    return values if below is None else {**values, "below": _embedding_values(below, vocabulary_rows)}


def _embedding_spec(values: Mapping[str, Any], folder: Path, *, trust_code: bool) -> EmbeddingSpec:
    family = _embedding_class(str(values["embedding"]), folder, trust_code=trust_code)
    below = _embedding_spec(values["below"], folder, trust_code=trust_code) if "below" in values else None
    return EmbeddingSpec(family, values["embedding_args"], base=below)


def _embedding_class(reference: str, folder: Path, *, trust_code: bool) -> type[Embedding]:
    place = reference.rpartition(":")[0]
    if place == OWN:
        if not trust_code:
            remedy = "read it, then add --trust-code (in Python: trust_code=True)"
            raise InputError(f"{folder / OWN}: code of whoever made this folder, which would run here; {remedy}")
        return load_own(str(folder / reference))
    if place.startswith((SUITE, EARLIER)):
        return _suite_class(reference)
    if not (trust_code and all(part.isidentifier() for part in place.split("."))):
        remedy = "if you trust it, add --trust-code (in Python: trust_code=True)"
        raise InputError(f"{folder / CONFIG}: embedding {reference!r} is no part of hashbench; {remedy}")
    return load_own(reference)


def _suite_class(reference: str) -> type[Embedding]:
    """The suite's embedding class that a config names, also if its module was renamed since the export."""
    place, _, name = reference.rpartition(":")
    place = SUITE + place.removeprefix(SUITE).removeprefix(EARLIER)
    if importlib.util.find_spec(place) is None:
        for module in modules_of(SUITE.rstrip(".")):
            for value in vars(module).values():
                if isinstance(value, type) and issubclass(value, Embedding) and value.stored_name() == name:
                    return value
    return load_own(f"{place}:{name}")


def copy_own_code(embedding: type[Embedding], folder: Path) -> None:
    """Copies the file of a user-defined embedding to the folder; does nothing for an embedding of the suite."""
    if is_own(embedding.__module__):
        shutil.copyfile(getfile(embedding), folder / OWN)


def spec_of(config: Config, folder: Path, *, trust_code: bool = False) -> ModelSpec:
    """The spec of an exported model. Raises InputError for a user-defined embedding unless `trust_code`."""
    values = config.spec
    form = values["template"]
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in form.items()}
    return ModelSpec(
        config.name,
        _embedding_spec(values, folder, trust_code=trust_code),
        text=TextSpec(values["tokenizer"], values["tokenizer_args"], Template(**plain)),
        code=CodeSpec(values["coder"], values["coder_args"]),
        encoder=EncoderSpec(values["encoder"], values["encoder_args"]),
        head=HeadSpec(values["pooling"], values["dense_head"]),
        training=TrainingSpec(objective=None),
        initial_spread=values["initial_spread"] if "initial_spread" in values else None,
    )
