"""Tables as rows for programs, in CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hashbench.results.papers.paper import Column
from hashbench.results.rendering.registry import Renderer
from hashbench.results.rendering.rows import csv_text, json_text
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published
from hashbench.results.tables.table import SIZES, Cell, Row, Table

TIDY = (
    "paper", "table", "model", "column", "value", "value_high", "std", "n", "unit", "published", "experiment",
    "encoder", "signs", "rating", "noise",
)  # fmt: skip


def tidy(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The tables' records, where they have some, else a row for each measured, published or planned cell.

    Scores are in percent, counts in the published unit. Where examples were drawn, a further row
    `<column>_over_examples` holds the ends of the interval in `value` and `value_high` and the number of examples in
    `n`. `noise`: below which differences in the cell's column are noise, where it is compared.
    """
    rows: list[dict[str, Any]] = []
    for table in tables:
        if table.records is not None:
            rows += map(dict, table.records)
            continue
        for row in table.rows:
            for column in table.columns:
                cell = row.cells[column.name]
                planned = bool(row.encoder and cell.reason)  # a run is planned and has no number
                if cell.value is None and not has_published(cell, table) and not planned:
                    continue
                rows.append(_tidy(table, row, column, cell=cell))
                if cell.interval is not None:
                    low, high = cell.interval
                    drawn = Cell(value=low, value_high=high, n=cell.n_examples, unit=cell.unit)
                    over = "interval" if column.measure == "rank" else "over_examples"
                    rows.append(_tidy(table, row, column, cell=drawn) | {"column": f"{column.name}_{over}"})
    return rows


def _tidy(table: Table, row: Row, column: Column, *, cell: Cell) -> dict[str, Any]:
    """The row of one cell; a count is in the unit of its published number."""
    published = cell.published if table.published else None
    unit = cell.unit or (published.unit if published else "") or column.unit
    if published and cell.value is not None and {cell.unit, published.unit} <= set(SIZES):
        cell, unit = replace(cell, value=cell.value * SIZES[cell.unit] / SIZES[published.unit]), published.unit
    of_column = (pairs for pairs in table.pairs if pairs.column == column.name)
    noise = next((pairs.noise() for pairs in of_column if (row.title, row.settings) in pairs.rows), None)
    values = (
        table.paper, table.number, row.key or row.model, column.name, cell.value, cell.value_high, cell.std, cell.n,
        unit, published.value if published else None, table.experiment, row.encoder,
        numbers.signs_said(cell) or (cell.text if cell.reason else "") or None, cell.rating or None, noise,
    )  # fmt: skip
    return dict(zip(TIDY, values, strict=True))


def _csv(tables: Sequence[Table], _width: int, _color: bool) -> str:
    rows = tidy(tables)
    listed = [name for table in tables if table.head for name in (table.head, *(of.name for of in table.columns))]
    return csv_text(list(rows[0]) if rows else listed or TIDY, rows)


def _json(tables: Sequence[Table], _width: int, _color: bool) -> str:
    """A JSON list of the tables' rows, or of their `document` for tables that have one."""
    return json_text([
        member for table in tables for member in (tidy([table]) if table.document is None else [table.document])
    ])  # fmt: skip


RENDERERS = (Renderer("csv", _csv, True, place=2), Renderer("json", _json, True, place=3))
