"""The description of an exported model: plain values in config.json, enough to build it again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from inspect import getfile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError, located
from hashbench.common.registry import is_own, listed_class
from hashbench.deployment.inputs import CONFIG, not_exported
from hashbench.deployment.untrusted import (
    MOST_BYTES,
    MOST_NUMBER,
    WrittenValues,
    check_arguments,
    check_numbers,
    check_values,
    one_line,
    plain_file,
)
from hashbench.models.embeddings.base import (
    SPECIALS,
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
from hashbench.models.embeddings.registry import embedding_arguments, load_own, suite_embedding
from hashbench.models.encoders.base import encoder_config, find_architecture
from hashbench.models.text.base import lasting
from hashbench.models.text.normal_forms import ARGUMENT
from hashbench.results.rendering.rows import json_text

FORMAT = 1  # of the folder
# Embeddings of the suite, in folders of earlier versions too, by a pattern that no path fits.
SUITE_MODULE = re.compile(r"hashbench\.(?:models\.)?embeddings\.[a-z_][a-z0-9_]*")
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
    # Of hub names in the spec that name no commit: the commit that was read; {} in folders of earlier versions
    commits: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def n_texts(self) -> int:
        """Texts of an input."""
        return 2 if self.is_pair else 1

    def write(self, folder: Path) -> None:
        """Writes config.json."""
        replace_text(folder / CONFIG, json_text(asdict(self)))


MOST_PARTS, MOST_LENGTH = 64, 2**20  # of a template; tokens of an input
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
LabelText = Annotated[str, Field(max_length=10_000)]


class WrittenEmbedding(WrittenValues):
    """An embedding in config.json: module and class, arguments, and the embedding that it is built over."""

    embedding: ShortText
    embedding_args: dict[str, Any]
    below: WrittenEmbedding | None = None


class WrittenTemplate(WrittenValues):
    """A template in config.json. Raises ValueError unless it has the texts A, B once each, between its own specials."""

    specials: tuple[ShortText, ...] = Field(min_length=len(SPECIALS), max_length=len(SPECIALS))
    single: tuple[ShortText, ...] = Field(max_length=MOST_PARTS)
    pair: tuple[ShortText, ...] = Field(max_length=MOST_PARTS)
    segments: bool = False
    truncation: Literal["balanced", "longest_first", "longer_keeps"] = "balanced"
    pad_multiple: int = Field(default=1, ge=1, le=MOST_PARTS)

    @model_validator(mode="after")
    def _forms(self) -> WrittenTemplate:
        for form, texts in ((self.single, ["A"]), (self.pair, ["A", "B"])):
            others = [part for part in form if part not in self.specials]
            if others != texts:
                raise ValueError(f"{' '.join(form)[:80]!r} must hold {' and '.join(texts)} once, and specials")
        return self


class WrittenSpec(WrittenEmbedding):
    """The spec of a model in config.json."""

    tokenizer: ShortText
    tokenizer_args: dict[str, Any]
    coder: ShortText
    coder_args: dict[str, Any]
    encoder: ShortText
    encoder_args: dict[str, Any]
    pooling: Literal["first", "max", "mean"]
    dense_head: bool
    template: WrittenTemplate
    initial_spread: Literal["matched"] | Annotated[float, Field(gt=0)] | None = None


class WrittenConfig(WrittenValues):
    """The schema of config.json. Keys of other libraries may be beside it."""

    model_config = ConfigDict(extra="ignore")
    name: str = Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")
    run: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: ShortText
    spec: WrittenSpec
    max_length: int = Field(ge=1, le=MOST_LENGTH)
    task: ShortText | None = None
    is_pair: bool = False
    n_outputs: int | None = Field(default=None, ge=1, le=MOST_NUMBER)
    labels: tuple[LabelText, ...] = ()
    label_order: tuple[LabelText, ...] = ()
    commits: dict[ShortText, Annotated[str, Field(pattern=r"^[0-9a-f]{6,64}$")]] = {}
    format: Literal[1] = 1

    @model_validator(mode="after")
    def _classes(self) -> WrittenConfig:
        if (self.task is None) != (self.n_outputs is None):
            raise ValueError("task and n_outputs go together: a model has both, or has no head")
        if self.labels and len(self.labels) != self.n_outputs:
            raise ValueError(f"{len(self.labels)} labels for {self.n_outputs} outputs")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("two labels have one name")
        return self


def read_config(folder: Path) -> Config:
    """The config of an exported model, checked against the schema. Raises InputError for a folder that holds none."""
    path = folder / CONFIG
    if not path.exists() and not path.is_symlink():
        raise not_exported(folder)
    with one_line(path):
        content = plain_file(path, MOST_BYTES).read_bytes()
        values = json.loads(content)
        if not isinstance(values, dict) or not {"name", "run", "spec"} <= set(values):  # of another library
            raise not_exported(folder)
        of_format = values.get("format", FORMAT)
        if of_format != FORMAT:
            program = f"exported in format {str(of_format)[:20]}, this program reads {FORMAT}"
            raise InputError(f"{folder}: {program}; export it again")
        check_values(WrittenConfig, content, path)
        check_numbers(values["spec"], f"{path}: spec")
    names = {entry.name for entry in fields(Config)}  # others are for other libraries
    own = {key: value for key, value in values.items() if key in names}
    order = tuple(own.get("label_order", ()))  # folders of earlier versions have none
    return Config(**{**own, "labels": tuple(own["labels"]), "label_order": order})


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
    family, arguments = _embedding_class(values["embedding"], folder, trust_code=trust_code), values["embedding_args"]
    check_arguments(family, arguments, f"{folder / CONFIG}: embedding_args")
    below = values.get("below")
    base = None if below is None else _embedding_spec(below, folder, trust_code=trust_code)
    return EmbeddingSpec(family, arguments, base=base)


def _embedding_class(reference: str, folder: Path, *, trust_code: bool) -> type[Embedding]:
    """The class that a config names: one of the suite's, or with `trust_code` the folder's or an installed one."""
    place, _, name = reference.rpartition(":")
    if place == OWN:
        if not trust_code:
            remedy = "read it, then add --trust-code (in Python: trust_code=True)"
            raise InputError(f"{folder / OWN}: code of whoever made this folder, which would run here; {remedy}")
        return load_own(f"{plain_file(folder / OWN)}:{name}")
    if SUITE_MODULE.fullmatch(place):
        family = suite_embedding(place.rpartition(".")[2], name)
        if family is None:
            remedy = "load it with the version that exported it"
            raise InputError(f"{folder / CONFIG}: embedding {reference[:200]!r} is none of this version's; {remedy}")
        return family
    if not (trust_code and all(part.isidentifier() for part in place.split("."))):
        remedy = "if you trust it, add --trust-code (in Python: trust_code=True)"
        raise InputError(f"{folder / CONFIG}: embedding {reference[:200]!r} is no part of hashbench; {remedy}")
    return load_own(reference)


def copy_own_code(embedding: type[Embedding], folder: Path) -> None:
    """Copies the file of a user-defined embedding to the folder; does nothing for an embedding of the suite."""
    if is_own(embedding.__module__):
        shutil.copyfile(getfile(embedding), folder / OWN)


def spec_of(config: Config, folder: Path, *, trust_code: bool = False) -> ModelSpec:
    """The spec of an exported model, of parts that the registry lists. Raises InputError for others.

    A user-defined embedding is refused unless `trust_code`.
    """
    values, where = config.spec, str(folder / CONFIG)
    form = values["template"]
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in form.items()}
    text = TextSpec(values["tokenizer"], values["tokenizer_args"], Template(**plain))
    # A coder may read a vocabulary of the hub: that of the training, whatever is newest.
    pinned = {
        key: f"{value}@{config.commits[value]}" if isinstance(value, str) and value in config.commits else value
        for key, value in values["coder_args"].items()
    }
    code = CodeSpec(values["coder"], pinned)
    encoder = EncoderSpec(values["encoder"], values["encoder_args"])
    with located(where):
        tokenizer, coder = listed_class("tokenizer", text.tokenizer), listed_class("coder", code.coder)
        sizes = find_architecture(encoder.kind).sizes
    check_arguments(tokenizer, text.args, f"{where}: tokenizer_args", ARGUMENT)
    check_arguments(coder, code.args, f"{where}: coder_args")
    if not trust_code and tokenizer.may_not_end(text.args):
        raise InputError(
            f"{where}: tokenizer_args: a regular expression that may take for ever on some text; read it, then "
            "--trust-code (trust_code=True)"
        )
    for shape in list(sizes.values())[:1]:
        check_arguments(type(shape), encoder.args, f"{where}: encoder_args")
    return ModelSpec(
        config.name,
        _embedding_spec(values, folder, trust_code=trust_code),
        text=text,
        code=code,
        encoder=encoder,
        head=HeadSpec(values["pooling"], values["dense_head"]),
        training=TrainingSpec(objective=None),
        initial_spread=values.get("initial_spread"),
    )
