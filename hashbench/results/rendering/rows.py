"""Rows of plain values, as commands list them: as a table, as aligned lines, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.results.papers.paper import Column
from hashbench.results.tables.numbers import MISSING
from hashbench.results.tables.table import Cell, Row, Table

COMMAS_ABOVE = 9999  # whole numbers above it are printed with commas in text
LISTING = "listing"  # in the place of a table's number
FORMULA = "=+-@\t\r"  # first characters of a cell that a spreadsheet computes
Value = str | int | float | None | Sequence[int] | Sequence[str]
ListedRows = Sequence[Mapping[str, Value]]


def listing(columns: Sequence[str], rows: ListedRows, people: ListedRows | None = None) -> Table:
    """Rows of plain values, as commands list them, as a table that any format prints.

    `people`: the rows in words, with some columns alone; programs get `rows`.
    """
    shown = rows if people is None else people
    head, *others = columns if people is None or not people else list(people[0])
    return Table(
        paper="",
        number=LISTING,
        title="",
        experiment="",
        columns=tuple(Column(name, "", "text", name) for name in others),
        rows=tuple(
            Row(name := _grouped(row[head]), name, {column: Cell(text=_grouped(row[column])) for column in others})
            for row in shown
        ),
        published=False,
        records=tuple({name: row[name] for name in columns} for row in rows),
        head=head,
    )


def text_lines(columns: Sequence[str], rows: ListedRows) -> list[str]:
    """A line of column names, then a line for each row, in aligned columns with numbers to the right.

    No wrapping, so that `grep` finds whole rows.

    >>> text_lines(["model", "size"], [{"model": "bert", "size": 12_000}])
    ['model    size', 'bert   12,000']
    """
    return aligned([list(columns), *([_grouped(row[name]) for name in columns] for row in rows)])


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, the first one of headings, in columns; columns of numbers alone are aligned to the right."""
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(map(_is_number, column[1:])) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]


def _is_number(text: str) -> bool:
    """True for a number as it is printed, also a missing one.

    >>> _is_number("12,000"), _is_number("-0.5"), _is_number(""), _is_number("sst2")
    (True, True, True, False)
    """
    try:
        return text in ("", MISSING) or bool(float(text.replace(",", "")) or True)
    except ValueError:
        return False


def _grouped(value: Value) -> str:
    """A cell as text, with thousands separators in large integers."""
    return f"{value:,}" if type(value) is int and value > COMMAS_ABOVE else str(plain(value))


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows under the names of their columns. A missing value is empty, members of a list are separated by blanks."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([as_text(plain(row.get(name))) for name in columns] for row in rows)
    return file.getvalue()


def as_text(cell: str | int | float) -> str | int | float:
    """A cell with an apostrophe in front of text that a spreadsheet would read as a formula.

    >>> as_text("=1+1"), as_text("-like"), as_text("-"), as_text("-0.5"), as_text(-0.5)
    ("'=1+1", "'-like", '-', '-0.5', -0.5)
    """
    if not isinstance(cell, str) or len(cell) < 2 or cell[0] not in FORMULA:
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def plain(value: Any) -> str | int | float:
    """A value as text or number for a cell: '' for None, a list with blanks between its members.

    >>> plain(None), plain([1, 2]), plain(True), plain(0.5)
    ('', '1 2', 'true', 0.5)
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str | int | float) else " ".join(map(str, value))


def json_text(value: object) -> str:
    """A value as JSON, in which NaN is not allowed."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
