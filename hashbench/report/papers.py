"""What a paper printed: its numbers (published/<paper>.csv), its tables and footnotes (published/<paper>.yaml)."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from hashbench.errors import InputError, near_match
from hashbench.report.rows import Column, Published

PUBLISHED = files("hashbench.report") / "published"
RecipeValue = str | int | float | bool | None | list[str] | list[float] | dict[str, float]


class Block(BaseModel):
    """A block of the YAML file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Section(Block):
    """Some rows of a table under a heading. A family is one row of the paper for several models."""

    title: str
    models: tuple[str, ...] = ()
    families: dict[str, tuple[str, ...]] = {}


class Footnote(Block):
    """A remark on the paper's own numbers; without cells it belongs to the table."""

    tables: tuple[str, ...]
    text: str
    cells: tuple[tuple[str, str], ...] = ()  # (model, column)


class Layout(Block):
    """One table of a paper."""

    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    floors: bool = False
    others: bool = False  # whether the experiment's models without a row in the paper follow
    notes: tuple[str, ...] = ()


class Recipe(Block):
    """What a paper's numbers were made with."""

    encoder: str
    seeds: int
    corpora: tuple[str, ...]
    vocabulary: int
    corpus: dict[str, RecipeValue]
    pretrain: dict[str, RecipeValue]
    finetune: dict[str, RecipeValue]


class PaperFile(Block):
    """The YAML file of a paper."""

    name: str
    title: str
    baseline: str
    tasks: tuple[str, ...]
    titles: dict[str, str]
    reported_rows: dict[str, int]
    recipe: Recipe
    tables: dict[str, Layout]
    footnotes: tuple[Footnote, ...] = ()


class Paper(PaperFile):
    """A paper as data: the file with its columns written out, and the printed numbers."""

    numbers: dict[tuple[str, str, str], Published]  # by (table, model, column)


def papers() -> list[str]:
    """The papers whose tables can be printed."""
    return sorted(entry.name.removesuffix(".yaml") for entry in PUBLISHED.iterdir() if entry.name.endswith(".yaml"))


@cache
def load_paper(name: str) -> Paper:
    """A paper by name.

    Raises InputError where no paper has that name.
    """
    if name not in papers():
        raise InputError(f"--paper: no paper {name!r}{near_match(name, papers())}; there are: {', '.join(papers())}")
    data = YAML(typ="safe").load((PUBLISHED / f"{name}.yaml").read_text(encoding="utf-8"))
    file = PaperFile.model_validate(data)
    tables = {number: _with_columns(layout, file) for number, layout in file.tables.items()}
    return Paper(**{**dict(file), "tables": tables}, numbers=_numbers(name))


def find_layout(paper: Paper, number: str) -> Layout:
    """A table of a paper.

    Raises InputError where the paper has no such table.
    """
    if number not in paper.tables:
        there = ", ".join(paper.tables)
        raise InputError(f"--table: {paper.name} has no table {number!r} here; there are: {there}")
    return paper.tables[number]


def _with_columns(layout: Layout, file: PaperFile) -> Layout:
    """The same table with `{task}` columns written out, one for each task of the paper."""
    columns: list[Column] = []
    for column in layout.columns:
        if "{task}" not in column.name:
            columns.append(replace(column, tasks=file.tasks))
            continue
        for task in file.tasks:
            columns.append(replace(column, name=column.name.format(task=task), title=file.titles[task], task=task))
    return layout.model_copy(update={"columns": tuple(columns)})


def _numbers(name: str) -> dict[tuple[str, str, str], Published]:
    """The reference data: one printed number a row."""
    text = (PUBLISHED / f"{name}.csv").read_text(encoding="utf-8")
    return {
        (row["table"], row["model"], row["column"]): Published(
            value=float(row["value"]),
            value_high=float(row["value_high"]) if row["value_high"] else None,
            std=float(row["std"]) if row["std"] else None,
            unit=row["unit"],
        )
        for row in csv.DictReader(text.splitlines())
    }
