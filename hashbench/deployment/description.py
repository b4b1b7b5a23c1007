"""The description of an exported model: config.json with its schema, and its tokenizer and coder. Without torch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError, located
from hashbench.common.own_files import digest_of, import_file
from hashbench.common.registry import class_of, listed_class
from hashbench.common.untrusted import (
    AGAIN,
    MOST_BYTES,
    MOST_NUMBER,
    OWN,
    STATE,
    TOKENIZER,
    WrittenValues,
    check_arguments,
    check_numbers,
    check_values,
    one_line,
    plain_file,
    plain_files,
    stored_arrays,
)
from hashbench.deployment.inputs import CONFIG, not_exported
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.names import Pooling
from hashbench.models.text.base import Tokenizer, saved_tokenizer
from hashbench.models.text.normal_forms import ARGUMENT
from hashbench.results.rendering.rows import json_text

FORMAT = 1  # of the folder
MULTI_LABEL = "multi_label_classification"
N_SPECIALS = 5  # special tokens of every template
WEIGHTS, CARD = "model.safetensors", "README.md"
OWN_PARTS = {"tokenizer": "tokenizer.py", "coder": "coder.py"}  # files of user-defined ones that are not in OWN


@dataclass(frozen=True)
class Config:
    """The contents of config.json. `labels`: names of the classes; one output without a name is a regression.

    `problem_type`: as transformers calls it, "multi_label_classification" where a text may have several labels.
    """

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
    # Hub names in the spec without a commit -> the commit that was read; {} in folders of earlier versions
    commits: dict[str, str] = field(default_factory=dict)
    problem_type: str | None = None
    format: int = FORMAT

    @property
    def n_texts(self) -> int:
        """Texts of an input."""
        return 2 if self.is_pair else 1

    @property
    def multi_label(self) -> bool:
        """True where a text may have several labels, each by itself: those whose output is above 0."""
        return self.problem_type == MULTI_LABEL

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

    specials: tuple[ShortText, ...] = Field(min_length=N_SPECIALS, max_length=N_SPECIALS)
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
    pooling: Pooling
    dense_head: bool
    template: WrittenTemplate
    initial_spread: Literal["matched"] | Annotated[float, Field(gt=0)] | None = None


class OfTransformers(WrittenValues):
    """Keys that transformers reads or writes in config.json; hashbench reads none of them."""

    model_type: Literal["hashed"] | None = None
    auto_map: dict[str, Any] = {}
    architectures: tuple[str, ...] | None = None
    embedding: dict[str, Any] = {}
    below: list[Any] = []
    encoder: dict[str, Any] = {}
    hidden_size: int | None = None
    head_size: int | None = None
    pooling: str | None = None
    dense_head: bool | None = None
    specials: int | None = None
    scaled: bool | None = None
    id2label: dict[str, str] = {}
    label2id: dict[str, int] = {}
    dtype: str | None = None
    torch_dtype: str | None = None
    problem_type: str | None = None
    transformers_version: str | None = None
    name_or_path: str | None = Field(default=None, alias="_name_or_path")


class WrittenConfig(OfTransformers):
    """The schema of config.json, with the keys of transformers that may be beside its own; others are refused."""

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
        if self.problem_type == MULTI_LABEL and (self.n_outputs or 0) < 2:
            raise ValueError("several labels a text need two or more outputs")
        return self


_OF_CONFIG = {field.alias or name for name, field in WrittenConfig.model_fields.items()}


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
        if "transformers_version" in values:  # saved by transformers: each version adds other keys
            values = {key: value for key, value in values.items() if key in _OF_CONFIG}
            content = json.dumps(values).encode()
        check_values(WrittenConfig, content, path)
        check_numbers(values["spec"], f"{path}: spec")
    names = {entry.name for entry in fields(Config)}  # others are for other libraries
    own = {key: value for key, value in values.items() if key in names}
    order = tuple(own.get("label_order", ()))  # folders of earlier versions have none
    return Config(**{**own, "labels": tuple(own["labels"]), "label_order": order})


def coder_arguments(config: Config, folder: Path, *, trust_code: bool) -> dict[str, Any]:
    """The arguments of a model's coder, after these and the tokenizer's were checked. Raises InputError.

    A coder may read a vocabulary of the hub: the training's, whatever is newest. A regular expression that may
    never end is refused unless `trust_code`.
    """
    values, where = config.spec, str(folder / CONFIG)
    pinned = {
        key: f"{value}@{config.commits[value]}" if isinstance(value, str) and value in config.commits else value
        for key, value in values["coder_args"].items()
    }
    for what in OWN_PARTS:
        _import_own(what, values[what], folder, trust_code=trust_code)
    with located(where):
        tokenizer, coder = listed_class("tokenizer", values["tokenizer"]), listed_class("coder", values["coder"])
    check_arguments(tokenizer, values["tokenizer_args"], f"{where}: tokenizer_args", ARGUMENT)
    check_arguments(coder, pinned, f"{where}: coder_args")
    if not trust_code and tokenizer.may_not_end(values["tokenizer_args"]):
        raise InputError(
            f"{where}: tokenizer_args: a regular expression that may take for ever on some text; read it, then "
            "--trust-code (trust_code=True)"
        )
    return pinned


def _import_own(what: str, name: str, folder: Path, *, trust_code: bool) -> None:
    """Imports the file of the folder that has a user-defined part, whose name ends in "@" and the file's digest.

    Does nothing for a part that is known, or that no file of the folder has. Raises InputError unless `trust_code`.
    """
    if "@" not in name or class_of(what, name) is not None:
        return
    for path in (folder / OWN, folder / OWN_PARTS[what]):
        if os.path.lexists(path) and digest_of(plain_file(path, MOST_BYTES)) == name.rpartition("@")[2]:
            check_trusted(path, trust_code=trust_code)
            import_file(path)


def check_trusted(path: Path, *, trust_code: bool) -> None:
    """Raises InputError for a file of code in an exported folder unless `trust_code`."""
    if not trust_code:
        remedy = "read it, then add --trust-code (in Python: trust_code=True)"
        raise InputError(f"{path}: code of whoever made this folder, which would run here; {remedy}")


def tokenizer_in(name: str, arguments: Mapping[str, Any], folder: Path) -> Tokenizer:
    """The tokenizer of an exported model. Raises InputError where its files are not what `save` writes."""
    with one_line(f"{folder / CONFIG}: tokenizer_args", within=folder), one_line(folder / TOKENIZER):
        return saved_tokenizer(name, plain_files(folder / TOKENIZER), arguments)


def coder_in(name: str, arguments: Mapping[str, Any], folder: Path) -> Coder:
    """The fitted coder of an exported model. Raises InputError where its state is not what the coder needs."""
    path = folder / STATE
    with one_line(path):
        with one_line(f"{folder / CONFIG}: coder_args", within=folder):
            coder = make_coder(name, **arguments)
        if path.exists() or path.is_symlink():
            coder.restore(stored_arrays(path))
        elif coder.needs_fit:
            raise InputError(f"{path}: is missing; {AGAIN}")
        if coder.width > MOST_LENGTH:
            raise InputError(f"{folder / CONFIG}: coder_args: codes of {coder.width:,} columns; {AGAIN}")
    return coder
