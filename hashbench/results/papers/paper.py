"""A paper as data: its printed numbers (published/<paper>.csv), tables and footnotes (published/<paper>.yaml)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from hashbench.common.errors import InputError, near_match

Direction = Literal["high", "low", ""]


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number of a paper, in the unit it was printed in."""

    value: float
    value_high: float | None = None  # upper end of a printed range
    std: float | None = None  # the deviation in parentheses
    unit: str = ""
    decimals: int = field(default=1, compare=False)  # as printed


@dataclass(frozen=True)
class Column:
    """One column of a table. `name` is its key in the reference data and in CSV and JSON output."""

    name: str
    unit: str  # percent | points | params | binary params | bytes | ms/sample | x | minutes | count | nats | area
    measure: str  # what is measured: a key of measures.MEASURES
    title: str = ""
    task: str | None = None  # "*": every task that has the metric, a row each
    better: Direction = ""
    subtitle: str = ""  # the metric that is read
    metric: str = ""  # of a score: read instead of the paper's choice for the task
    split: str = ""
    # Columns of an average; columns in brackets count together as one
    tasks: tuple[str | tuple[str, ...], ...] = ()
    fact: str = ""  # a stored fact of another name than the column's
    factor: float = 1.0  # by which a fact is multiplied
    of: str = ""  # of a difference: the column that is compared
    against: str = ""  # with which model; "pair": with the row's partner
    path: str = ""  # of a setting: its place in a run's spec, with dots
    unavailable: bool = False  # printed in the paper, in numbers that are not at hand

    @property
    def is_time(self) -> bool:
        """True for a measured time or a ratio of two."""
        return self.unit == "ms/sample" or (self.measure == "fact" and self.unit == "x")


PUBLISHED = files("hashbench.results.papers") / "published"
# Whose recipe and order of tasks hold where an experiment has no paper's models
FIRST_PAPER = "hashformers"
RecipeValue = str | int | float | bool | None | list[str] | list[float] | dict[str, float | str]


class PaperBlock(BaseModel):
    """A block of the YAML file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Section(PaperBlock):
    """Some rows of a table under a heading. A family is one row of the paper for several models."""

    title: str
    models: tuple[str, ...] = ()
    families: dict[str, tuple[str, ...]] = {}
    quoted: tuple[str, ...] = ()  # systems that the paper quotes and that nothing here trains
    tasks: dict[str, str] = {}  # of a table of data sets: the paper's name -> name of the task here
    printed: bool = True  # whether the paper's table has these rows
    # Further sizes and variations of the suite's: rows only where the experiment has them
    further: bool = False


class Variant(PaperBlock):
    """One of several rows that a table has for each model, with its suffixes of metrics and of reference data keys."""

    title: str
    metric: str  # behind the name of the column's metric
    key: str  # behind the model's name in the reference data


class Footnote(PaperBlock):
    """A remark on the paper's own numbers; without cells it belongs to the table."""

    tables: tuple[str, ...]
    text: str
    cells: tuple[tuple[str, str], ...] = ()  # (model, column)


class Layout(PaperBlock):
    """One table of a paper."""

    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    floors: bool = False
    others: bool = False  # whether the experiment's models without a row in the paper follow
    # Whether columns of exported forms follow where they were measured, and trivial baselines that were exported
    forms: bool = False
    # Further tables of the reference data that are looked up (what the text states)
    also: tuple[str, ...] = ()
    pairs: dict[str, str] = {}  # the partner that a model is compared with
    # The column in which a model's difference is taken, if not the usual one
    of: dict[str, str] = {}
    variants: tuple[Variant, ...] = ()
    notes: tuple[str, ...] = ()


class Recipe(PaperBlock):
    """The settings behind a paper's numbers, as far as it prints them."""

    encoder: str | None = None  # None: models of several sizes
    seeds: int | None = None
    corpora: tuple[str, ...] = ()
    vocabulary: int | None = None
    corpus: dict[str, RecipeValue] = {}
    pretrain: dict[str, RecipeValue] = {}
    finetune: dict[str, RecipeValue] = {}


class Hyperparameter(PaperBlock):
    """One row of a table of hyper-parameters."""

    title: str
    path: str  # its place in a run's spec, with dots
    value: RecipeValue = None  # the paper's, where its recipe has none
    printed: str = ""  # the paper's words, where they are not the value
    unset: RecipeValue = None  # the value of runs whose spec has none
    encoders: tuple[str, ...] = ()  # the kinds of encoder for which `unset` is true; (): all


class HyperparameterLayout(PaperBlock):
    """A paper's table of hyper-parameters."""

    title: str
    block: Literal["pretrain", "finetune"]  # of a run's spec: runs that have it are read
    rows: tuple[Hyperparameter, ...]
    notes: tuple[str, ...] = ()


class PaperFile(PaperBlock):
    """The YAML file of a paper."""

    name: str
    title: str
    tasks: tuple[str, ...]
    titles: dict[str, str]
    reported_rows: dict[str, int]  # examples of the full reported set of a task
    # What a table over all tasks with a metric was measured on, where no task here is that
    data: str = ""
    statistic: Literal["mean", "median"] = "mean"  # over seeds
    recipe: Recipe
    tables: dict[str, Layout]
    hyperparameters: dict[str, HyperparameterLayout] = {}  # further tables, by number
    footnotes: tuple[Footnote, ...] = ()


class Paper(PaperFile):
    """A paper as data: the file with its columns written out, and the printed numbers."""

    numbers: dict[tuple[str, str, str], PublishedNumber]  # by (table, model, column)

    @property
    def numbered(self) -> list[str]:
        """The numbers ('1', '2', ...) of all tables that can be printed."""
        return sorted([*self.tables, *self.hyperparameters])

    def value_of(self, row: Hyperparameter) -> RecipeValue:
        """The paper's value of a hyper-parameter: from its recipe, else from the row of the table."""
        block, _, key = row.path.partition(".")
        recipe: dict[str, RecipeValue] = getattr(self.recipe, block) if block in ("pretrain", "finetune") else {}
        return row.value if recipe.get(key) is None else recipe[key]


def layouts() -> list[Layout]:
    """The layouts of all papers' tables, in the order of papers and tables."""
    return [layout for name in papers() for layout in load_paper(name).tables.values()]


def papers() -> list[str]:
    """Names of the papers whose tables can be printed: the HashFormers paper, then the others by name."""
    names = [entry.name.removesuffix(".yaml") for entry in PUBLISHED.iterdir() if entry.name.endswith(".yaml")]
    return sorted(names, key=lambda name: (name != FIRST_PAPER, name))


@cache
def load_paper(name: str) -> Paper:
    """A paper by name.

    Raises InputError where no paper has that name.
    """
    if name not in papers():
        having = [paper for paper in papers() if any(model.startswith(name) for _, model, _ in printed_numbers(paper))]
        rows = f"; {name}'s rows stand in the tables of {', '.join(having)}" if name and having else ""
        near = near_match(name, papers()) or rows
        raise InputError(f"--paper: no paper {name!r}{near}; there are: {', '.join(papers())}")
    data = YAML(typ="safe").load((PUBLISHED / f"{name}.yaml").read_text(encoding="utf-8"))
    file = PaperFile.model_validate(data)
    tables = {number: _with_columns(layout, file) for number, layout in file.tables.items()}
    return Paper(**{**dict(file), "tables": tables}, numbers=printed_numbers(name))


def check_number(paper: Paper, number: str, others: Sequence[str] = ()) -> None:
    """Raises InputError where the paper has no table of that number. `others`: tables of no paper, for the message."""
    if number not in paper.numbered:
        near = near_match(number, list(others))
        there = f"there are: {', '.join(paper.numbered)}" + (
            f"; without a paper: {', '.join(others)}" if others else ""
        )
        raise InputError(f"--table: {paper.name} has no table {number!r} here{near}; {there}")


def _with_columns(layout: Layout, file: PaperFile) -> Layout:
    """A table with its `{task}` columns written out, one for each task of the paper."""
    columns: list[Column] = []
    for column in layout.columns:
        if "{task}" not in column.name:
            columns.append(replace(column, tasks=column.tasks or file.tasks))
            continue
        for task in file.tasks:
            columns.append(replace(column, name=column.name.format(task=task), title=file.titles[task], task=task))
    return layout.model_copy(update={"columns": tuple(columns)})


@cache
def printed_numbers(name: str) -> dict[tuple[str, str, str], PublishedNumber]:
    """A paper's printed numbers by (table, model, column)."""
    text = (PUBLISHED / f"{name}.csv").read_text(encoding="utf-8")
    return {
        (row["table"], row["model"], row["column"]): PublishedNumber(
            value=float(row["value"]),
            value_high=float(row["value_high"]) if row["value_high"] else None,
            std=float(row["std"]) if row["std"] else None,
            unit=row["unit"],
            decimals=len(row["value"].partition(".")[2]),
        )
        for row in csv.DictReader(text.splitlines())
    }
