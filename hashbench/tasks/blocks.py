"""The blocks of an experiment file that speak of tasks: own data sets, and how sets of items are split and tested."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A block of the file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())


Beams = Annotated[
    tuple[Annotated[int, Field(gt=0)], ...],
    Field(description="beam widths whose recall is stored, beside that of the full ranking"),
]


class EntitiesBlock(Strict):
    """How a page-link set is split, cut into segments and evaluated; the same for all models of an experiment."""

    max_items: int | None = Field(default=None, gt=0, description="keep links to the most linked items only; null: all")
    test_share: float = Field(default=0.1, gt=0, lt=1, description="share of the pages that are held out for testing")
    validation_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of the remaining pages by which the best evaluation is chosen",
    )
    split_seed: int = Field(default=0, ge=0, description="of the held-out pages and of the contexts they are tested in")
    segment_items: int = Field(default=32, ge=2, description="items of a segment at most, the hidden ones included")
    segment: Literal["subset", "contiguous"] = Field(
        default="subset",
        description="how a segment is drawn from a longer page: any of its links, or neighbours (links may be sorted)",
    )
    validation_cases: int | None = Field(
        default=2048,
        gt=0,
        description="cases of an evaluation during training; null: every link of every validation page",
    )
    cases_per_page: int | None = Field(
        default=None,
        gt=0,
        description="hidden links a test page, one at a time; null: each of its links; the paper: 1",
    )
    beams: Beams = (1, 5, 10, 20, 50, 100)


class PhrasesBlock(Strict):
    """How a corpus becomes items that are hidden and predicted; the same for all models of an experiment."""

    corpora: tuple[str, ...] = Field(
        default=("wikipedia", "bookcorpus"),
        min_length=1,
        description="corpora, read in this order: names, or paths of own files as texts/*.txt (relative to the file)",
    )
    max_documents: int | None = Field(
        default=None,
        gt=0,
        description="read only the first documents of each corpus; null: all",
    )
    vocabulary: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "word pieces of a vocabulary file or hub name (bert-base-uncased); null: trained on the training documents"
        ),
    )
    vocabulary_size: int = Field(
        default=30_522,
        ge=300,
        description="rows of a trained vocabulary of word pieces, specials included",
    )
    items: int = Field(
        default=1_000_000,
        gt=0,
        description="items in all: every word piece, then the most frequent words and pairs of words from one list",
    )
    sequence_items: int = Field(default=128, ge=4, description="items of a sequence at most, special ones not counted")
    next_sentence: bool = Field(
        default=True,
        description=(
            "sequences in two segments, the second one followed the first or is of another document, and a head that "
            "tells which, as in BERT; false: one segment"
        ),
    )
    test_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of the documents that are held out for testing",
    )
    validation_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of the remaining documents by which the best evaluation is chosen",
    )
    split_seed: int = Field(default=0, ge=0, description="of the held-out documents and of what is hidden in them")
    validation_sequences: int | None = Field(
        default=100,
        gt=0,
        description=(
            "sequences of an evaluation during training, each with all its hidden items; null: all of validation"
        ),
    )
    test_sequences: int | None = Field(
        default=2_000,
        gt=0,
        description="sequences of the test, each with all its hidden items; null: all",
    )
    beams: Beams = (1, 5, 10, 20, 50, 100)


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
