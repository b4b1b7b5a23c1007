"""The base of all blocks of an experiment file, a mark for names of plug-ins, and a user-defined data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import PydanticKnownError, core_schema

from hashbench.common.errors import InputError
from hashbench.data.sources.hub import HubPlace, named_place


class Strict(BaseModel):
    """A block of the file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())
    if_missing: ClassVar[Mapping[str, str]] = {}  # what to do where a key is missing


@dataclass(frozen=True)
class NameOf:
    """Marks a text as one of several names: `Annotated[str, NameOf(registered_perturbations)]`.

    The names are looked up when a file is read: a plug-in may itself import the schema.
    """

    names: Callable[[], Sequence[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": list(self.names()), "type": "string"}

    def _checked(self, value: Any) -> str:
        names = self.names()
        if value not in names:  # the error of a Literal
            quoted = [repr(name) for name in names]
            raise PydanticKnownError("literal_error", {"expected": " or ".join([", ".join(quoted[:-1]), quoted[-1]])})
        return str(value)


HASHED_BYTES = 65_536  # of the trivial baseline `hashed-words`, unless a file has another number
# numpy, torch and Lightning take no larger one
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Beams = Annotated[
    tuple[Annotated[int, Field(gt=0)], ...],
    Field(description="beam widths whose recall is stored, beside that of the full ranking"),
]


SplitName = Literal["train", "validation", "test"]

# How a tenth of train is held out (`holding_out.py`): in groups of rows that lie in one another, or each row by itself,
# which experiments meant that were stored without the key
HoldOut = Literal["groups", "rows"]
BY_GROUPS: HoldOut = "groups"
BY_ROWS: HoldOut = "rows"


class WordColumns(Strict):
    """The columns of a CoNLL file, counted from 1."""

    word: int = Field(gt=0, description="column of the word in CoNLL files, counted from 1")
    tag: int = Field(gt=0, description="column of its tag in CoNLL files, counted from 1")


def _as_text(value: Any) -> Any:
    """A number or truth value of the file as text, since the name of a class is text; anything else as it is."""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


ClassName = Annotated[str, Field(min_length=1), BeforeValidator(_as_text, json_schema_input_type=str | float | bool)]


def _as_hub_name(value: str) -> str:
    """The value. Raises ValueError where it names no data set of the hub."""
    try:
        at = named_place(value)
    except InputError as error:
        raise ValueError(str(error)) from error
    if at.config is not None:
        raise ValueError(f"{value!r} names a config; give it as config: {at.config}")
    return value


OF_FILES = ("delimiter", "columns", "on_bad_lines")  # keys of data sets in a folder


class TaskEntry(Strict):
    """A user-defined data set, in place of a task's name."""

    if_missing: ClassVar[Mapping[str, str]] = {
        "text": "add it, and path or hub; a task that comes with hashbench is its name alone, without keys"
    }
    name: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="unique in the experiment; no task of the suite, column of tables or trivial baseline",
    )
    path: str | None = Field(
        default=None,
        description=(
            "folder with train, validation (or dev, valid, val) and perhaps test, in files of any format of tables; "
            "relative to this file"
        ),
    )
    hub: Annotated[str, AfterValidator(_as_hub_name)] | None = Field(
        default=None,
        description=(
            "in place of path: a data set of the Hugging Face hub, OWNER/NAME or OWNER/NAME@COMMIT; without a commit "
            "the newest one when it is first read, which is remembered"
        ),
    )
    config: str | None = Field(
        default=None, min_length=1, description="config of the data set on the hub; null: its only or default one"
    )
    text: str | tuple[str, str] = Field(
        description="column of the text, or two columns of a pair, as translation.en if it lies in another; of a "
        "page-link set the column of the page"
    )
    links: str | None = Field(
        default=None,
        description=(
            "column of linked items, a list of texts a page: makes it a page-link set, a folder with links.parquet"
        ),
    )
    label: str = Field(default="label", description="column of the label")
    labels: Annotated[tuple[ClassName, ...], Field(min_length=2)] | dict[str, ClassName] | None = Field(
        default=None,
        description="the classes: a list of names in order, as [no, yes], or what the files hold with the name that it "
        "means, as {0: no, 1: yes}; null: the names in parquet files or label_names.json, else the labels that occur",
    )
    positive: ClassName | None = Field(
        default=None, description="with metric f1: the class of two whose F1 it is; null: the second of the two"
    )
    separator: str | None = Field(
        default=None,
        min_length=1,
        description="what separates the names of several labels in one cell, as '|'; null: the cells are lists. With a "
        "metric of several labels a text, as label_f1_micro",
    )
    metric: str = Field(default="accuracy", description="the metric to select and report by; see hashbench data list")
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="what separates the cells of .csv files, as ';'; null: a comma. A .tsv file has tabs",
    )
    columns: WordColumns | None = Field(
        default=None,
        description="columns of word and tag in CoNLL files, as {word: 2, tag: 4}; null: the first and the last",
    )
    on_bad_lines: Literal["error", "skip"] = Field(
        default="error",
        description="skip leaves out lines that are no JSON object and rows of CSV and TSV with more or fewer cells "
        "than the header; every table says how many",
    )
    splits: dict[SplitName, str] | None = Field(
        default=None,
        description="files of the splits in path, as {train: train.csv, test: eval.csv}, or their names on the hub, "
        "and no others; null: by their names",
    )
    max_rows: int | None = Field(
        default=None,
        gt=1,
        description="at most so many rows of each split, drawn with a fixed seed; every table calls it a sample; "
        "null: all",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> TaskEntry:
        if (self.path is None) == (self.hub is None):
            raise ValueError("give path, a folder, or hub, a data set of the Hugging Face hub: one of the two")
        if self.hub is None and self.config is not None:
            raise ValueError("config is of a data set of the hub; leave it out")
        unfit = [key for key in OF_FILES if getattr(self, key) not in (None, "error")]
        if self.hub is not None and unfit:
            raise ValueError(f"{unfit[0]} is of files in a folder; leave it out")
        return self

    def hub_place(self) -> HubPlace | None:
        """The data set of the hub that the entry names; None for a folder."""
        if self.hub is None:
            return None
        splits = {str(split): name for split, name in (self.splits or {}).items()}
        return named_place(self.hub, config=self.config, splits=splits)
