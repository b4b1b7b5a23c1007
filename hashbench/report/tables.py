"""A paper's table filled with what an experiment measured, the published number beside each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hashbench.report.cells import Ratios, average_cell, fact_cell, ratio_cell, score_cell
from hashbench.report.examples import Examples
from hashbench.report.measured import Entry, Measured, Seeded
from hashbench.report.missing import missing_lines
from hashbench.report.papers import Layout, Paper, find_layout
from hashbench.report.rows import Cell, Column, Published, Row, Table, mark_best

FLOORS = "Floors"
OTHERS = "Also in this experiment"


@dataclass(frozen=True)
class Filling:
    """What the cells of a paper's table are made from."""

    measured: Measured
    paper: Paper
    readings: dict[str, tuple[str, str]]  # task -> (metric, split)
    ratios: Ratios
    examples: Examples | None

    def read(self, entry: Entry, task: str) -> list[Seeded]:
        """The scores that the paper reads for a task."""
        return self.measured.read(entry, task, *self.readings[task]) if task in self.readings else []


def _score(filling: Filling, entry: Entry, column: Column) -> Cell:
    assert column.task is not None
    return score_cell(entry, column.task, filling.read, filling.examples)


def _average(filling: Filling, entry: Entry, column: Column) -> Cell:
    return average_cell(entry, column.tasks, filling.read, filling.examples)


def _ratio(filling: Filling, entry: Entry, column: Column) -> Cell:
    return ratio_cell(filling.measured, entry, column.task or "average", filling.paper, filling.ratios)


def _fact(filling: Filling, entry: Entry, column: Column) -> Cell:
    return fact_cell(filling.measured, entry, column)


# What a column of a layout may ask for.
MEASURES: dict[str, Callable[[Filling, Entry, Column], Cell]] = {
    "score": _score,
    "average": _average,
    "prr": _ratio,
    "prr_average": _ratio,
    "fact": _fact,
}


def paper_table(
    measured: Measured, paper: Paper, number: str, *, published: bool = True, examples: Examples | None = None
) -> Table:
    """One table of a paper. Rows without a run are kept while published numbers are shown, else left out.

    Raises InputError where the paper has no such table.
    """
    layout = find_layout(paper, number)
    filling = Filling(measured, paper, measured.readings(paper.name), measured.ratios(paper.name), examples)
    columns = _with_metrics(layout.columns, filling)
    rows = mark_best(_rows(layout, number, columns, filling), columns)
    rows, footnotes = _footnoted(rows, number, paper, published)
    if not published:
        rows = [row for row in rows if row.encoder]
    return Table(
        paper=paper.name,
        number=number,
        title=f"{paper.name} table {number}: {layout.title}",
        experiment=measured.experiment.name,
        columns=columns,
        rows=tuple(rows),
        footnotes=tuple(footnotes),
        notes=layout.notes,
        missing=tuple(missing_lines(rows, columns)),
        published=published,
    )


def _with_metrics(columns: Sequence[Column], filling: Filling) -> tuple[Column, ...]:
    """The same columns; those of a score are headed by the metric that the paper reads."""
    return tuple(
        replace(column, subtitle=filling.readings[column.task][0])
        if column.measure == "score" and column.task in filling.readings
        else column
        for column in columns
    )


def _rows(layout: Layout, number: str, columns: Sequence[Column], filling: Filling) -> list[Row]:
    """All rows in the paper's order, then models that the paper has not, then the floors."""
    rows: list[Row] = []
    placed: set[str] = set()
    for section in layout.sections:
        for model in section.models:
            rows.extend(_model_rows(model, section.title, number, columns, filling))
        placed.update(section.models)
        for family, members in section.families.items():
            rows.append(_family_row(family, members, section.title, number, columns, filling))
            for member in members:
                found = _model_rows(member, section.title, number, columns, filling)
                rows.extend(replace(row, title=f"  {row.title}") for row in found if row.encoder)
            placed.update(members)
    for entry in filling.measured.entries:
        if layout.others and entry.kind == "model" and entry.model not in placed:
            rows.append(_entry_row(entry, OTHERS, number, columns, filling))
        elif layout.floors and entry.kind == "floor":
            rows.append(_entry_row(entry, FLOORS, number, columns, filling))
    return rows


def _model_rows(model: str, section: str, number: str, columns: Sequence[Column], filling: Filling) -> list[Row]:
    """The rows of a model of the paper: one an entry, or an empty one where the experiment has none."""
    entries = [entry for entry in filling.measured.entries if entry.model == model and entry.kind == "model"]
    if entries:
        return [_entry_row(entry, section, number, columns, filling) for entry in entries]
    cells = {
        column.name: Cell(published=_published(filling.paper, number, model, column), reason="not in this experiment")
        for column in columns
    }
    return [Row(model, model, cells, section=section)]


def _entry_row(entry: Entry, section: str, number: str, columns: Sequence[Column], filling: Filling) -> Row:
    cells = {
        column.name: replace(
            MEASURES[column.measure](filling, entry, column),
            published=_published(filling.paper, number, entry.model, column),
        )
        for column in columns
    }
    return Row(entry.model, entry.model, cells, entry.kind, entry.encoder, section, entry.settings)


def _published(paper: Paper, number: str, model: str, column: Column) -> Published | None:
    key = (number, model, column.name)
    return paper.numbers[key] if key in paper.numbers else None


def _family_row(
    family: str, members: Sequence[str], section: str, number: str, columns: Sequence[Column], filling: Filling
) -> Row:
    """One row of the paper for several models: the mean of theirs; of a range, the mean of each end."""
    entries = [entry for entry in filling.measured.entries if entry.model in members and entry.kind == "model"]
    alike = len({entry.encoder for entry in entries}) == 1
    cells: dict[str, Cell] = {}
    for column in columns:
        found = [MEASURES[column.measure](filling, entry, column) for entry in entries] if alike else []
        cells[column.name] = replace(_mean_cell(found), published=_published(filling.paper, number, family, column))
    return Row(family, family, cells, "family", entries[0].encoder if alike else "", section)


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    """The mean of cells that have a value."""
    known = [cell for cell in cells if cell.value is not None]
    if not known:
        return Cell(reason="not measured" if cells else "not in this experiment")
    lows = [cell.value for cell in known if cell.value is not None]
    highs = [cell.value_high for cell in known if cell.value_high is not None]
    high = sum(highs) / len(highs) if len(highs) == len(known) else None
    return replace(known[0], value=sum(lows) / len(lows), value_high=high)


def _footnoted(rows: Sequence[Row], number: str, paper: Paper, published: bool) -> tuple[list[Row], list[str]]:
    """The same rows with footnote numbers on their cells, and the texts; they speak of published numbers only."""
    marked, texts = [dict(row.cells) for row in rows], []
    for note in paper.footnotes if published else ():
        if number not in note.tables:
            continue
        texts.append(note.text)
        for model, column in note.cells:
            for row, cells in zip(rows, marked, strict=True):
                if row.model == model and cells[column].published is not None:
                    cells[column] = replace(cells[column], marks=(*cells[column].marks, len(texts)))
    return [replace(row, cells=cells) for row, cells in zip(rows, marked, strict=True)], texts
