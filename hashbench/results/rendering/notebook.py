"""Reports from Python: `hashbench.report("glue_tiny")`, shown as tables by a notebook and as text elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from hashbench.results.papers.paper import Column
from hashbench.results.rendering.registry import render
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Row, Table
from hashbench.store.engine import open_results
from hashbench.store.result import Checkpoint

QUIET = "opacity: .65; font-size: 85%"


@dataclass(frozen=True)
class Report:
    """Tables that a notebook shows as HTML; `str` gives them as text for a terminal."""

    tables: tuple[Table, ...]

    def __str__(self) -> str:
        return render(self.tables)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(map(_table, self.tables))


def report(
    experiment: str | None = None,
    *,
    db: str | Path = "results.db",
    paper: str | None = None,
    table: str | int | None = None,
    examples: bool = False,
    checkpoint: Checkpoint = "best",
) -> Report:
    """The tables of an experiment, as `hashbench report` prints them (None: the one that was swept last).

    Raises InputError for a database, experiment, paper or table that does not exist.
    """
    store = open_results(db)
    try:
        wanted = None if table is None else str(table)
        request = ReportRequest(experiment, paper, wanted, examples=examples, checkpoint=checkpoint)
        return Report(tuple(tables(store, request)))
    finally:
        store.close()


def _table(table: Table) -> str:
    """One table with its warnings, legend, notes and provenance as HTML, every text escaped."""
    heads = [Markup("<th>{}</th>").format(row_head(table))]
    heads += [
        Markup("<th>{}<br/><span style='{}'>{}</span></th>").format(column.title or column.name, QUIET, column.subtitle)
        for column in table.columns
    ]
    warnings = [Markup("<p><b>{}</b></p>").format(line) for line in table.warnings]
    lines, section = [], ""
    for row in table.rows:
        if row.section != section:
            section = row.section
            head = Markup("<tr><th colspan='{}' style='text-align: left'><i>{}</i></th></tr>")
            lines.append(head.format(len(heads), section))
        lines.append(_row(row, table))
    small = [legend(table, best="bold"), *notes(table), *(f"{what}: {value}" for what, value in table.provenance)]
    parts = [
        Markup("<h4>{}</h4>").format(table.title), *warnings, Markup("<table><thead><tr>"), *heads,
        Markup("</tr></thead><tbody>"), *lines, Markup("</tbody></table>"),
        Markup("<details><summary>What the numbers mean and stand on</summary>"),
        *(Markup("<p style='{}'>{}</p>").format(QUIET, line) for line in small if line), Markup("</details>"),
    ]  # fmt: skip
    return str(Markup("").join(parts))


def _row(row: Row, table: Table) -> Markup:
    name = row.title.strip() + (f" ({row.settings})" if row.settings else "")
    cells = [_cell(row, column, table) for column in table.columns]
    return Markup("<tr><th style='text-align: left'>{}</th>{}</tr>").format(name, Markup("").join(cells))


def _cell(row: Row, column: Column, table: Table) -> Markup:
    cell = row.cells[column.name]
    value = escape(numbers.value(cell, column))
    value = Markup("<b>{}</b>").format(value) if cell.best else value
    beside = [numbers.spread(cell, column, table), numbers.interval(cell, column)]
    beside += [f"[{numbers.printed(cell)}]"] if has_published(cell, table) else []
    quiet = [Markup("<br/><span style='{}'>{}</span>").format(QUIET, text) for text in beside if text]
    return Markup("<td title='{}'>{}{}</td>").format(
        numbers.signs_said(cell) or cell.reason, value, Markup("").join(quiet)
    )
