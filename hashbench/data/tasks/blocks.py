"""The base of all blocks of an experiment file, a mark for names of plug-ins, and a user-defined data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticKnownError, core_schema


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


class TaskEntry(Strict):
    """A user-defined data set, in place of a task's name."""

    if_missing: ClassVar[Mapping[str, str]] = {
        "path": "add it; a task that comes with hashbench is its name alone, without keys"
    }
    name: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="unique in the experiment; no task of the suite, column of tables or trivial baseline",
    )
    path: str = Field(
        description=(
            "folder with train, validation (or dev, valid, val) and perhaps test, as parquet, CSV, TSV, JSONL, JSON or "
            "CoNLL; relative to this file"
        )
    )
    text: str | tuple[str, str] = Field(
        description="column of the text, or two columns of a pair; of a page-link set the column of the page"
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
        description="files of the splits in path, as {train: train.csv, test: eval.csv}, and no others; null: by their "
        "names",
    )
    max_rows: int | None = Field(
        default=None,
        gt=1,
        description="at most so many rows of each split, drawn with a fixed seed; every table calls it a sample; "
        "null: all",
    )
