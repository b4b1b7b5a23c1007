"""What blocks of an experiment file are made of, and the entry of an own data set."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A block of the file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())


Beams = Annotated[
    tuple[Annotated[int, Field(gt=0)], ...],
    Field(description="beam widths whose recall is stored, beside that of the full ranking"),
]


class TaskEntry(Strict):
    """A data set of the user's own where a task name stands."""

    name: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="unique in the experiment, and no task of the suite",
    )
    path: str = Field(
        description=(
            "folder with train, validation (or dev) and perhaps test, as parquet, CSV, TSV or JSONL; relative to this "
            "file"
        ),
    )
    text: str | tuple[str, str] = Field(
        description="column of the text, or two columns of a pair; of a page-link set the column of the page",
    )
    links: str | None = Field(
        default=None,
        description=(
            "column of linked items, a list of texts a page: makes it a page-link set, a folder with links.parquet"
        ),
    )
    label: str = Field(default="label", description="column of the label")
    metric: str = Field(default="accuracy", description="the metric to select and report by; see hashbench data list")
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="what separates the cells of .csv files, as ';'; null: a comma. A .tsv file has tabs",
    )
    max_rows: int | None = Field(
        default=None,
        gt=1,
        description="at most so many rows of each split, drawn with a fixed seed; every table calls it a sample; "
        "null: all",
    )
