"""Rows of plain values, as commands list them: aligned text, markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.results.tables.numbers import MISSING

LARGE = 9999  # whole numbers above it are printed with commas in text
LINE = 120  # characters of the longest line of a sentence
FORMULA = "=+-@\t\r"  # first characters of a cell that a spreadsheet computes
Value = str | int | float | None | Sequence[int] | Sequence[str]
ListedRows = Sequence[Mapping[str, Value]]


def render_rows(columns: Sequence[str], rows: ListedRows, format: str) -> str:
    """Rows with these columns, as one text that ends in a line feed.

    >>> print(render_rows(["model", "size"], [{"model": "a|b", "size": 12_000}], "md"), end="")
    | model | size |
    |---|---|
    | a\\|b | 12000 |
    """
    if format == "json":
        return json_text([{name: row[name] for name in columns} for row in rows])
    if format == "csv":
        return csv_text(columns, rows)
    if format == "md":
        cells = [[str(plain(row[name])).replace("|", "\\|") for name in columns] for row in rows]
        lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        lines += [f"| {' | '.join(line)} |" for line in cells]
    else:
        lines = text_lines(columns, rows)
    return "\n".join(lines) + "\n"


def text_lines(columns: Sequence[str], rows: ListedRows) -> list[str]:
    """A line of column names, then a line for each row, in aligned columns with numbers to the right.

    No wrapping, so that `grep` finds whole rows.

    >>> text_lines(["model", "size"], [{"model": "bert", "size": 12_000}])
    ['model    size', 'bert   12,000']
    """
    cells = [[_grouped(row[name]) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells), 0) for i, name in enumerate(columns)]
    right = [all(isinstance(row[c], int | float | None) or row[c] == MISSING for row in rows) for c in columns]
    lines = []
    for line in [list(columns), *cells]:
        parts = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return lines


def fitted_lines(columns: Sequence[str], rows: ListedRows, width: int, *, n_names: int) -> list[str]:
    """The lines of `text_lines`, in blocks of columns that fit the width, each with the first `n_names` columns.

    >>> fitted_lines(["task", "a", "b"], [{"task": "cola", "a": 1.5, "b": 2.5}], 10, n_names=1)
    ['task    a', 'cola  1.5', '', 'task    b', 'cola  2.5']
    """
    names, others = list(columns[:n_names]), list(columns[n_names:])
    blocks: list[list[str]] = []
    for column in others:
        wider = [*names, *(blocks[-1] if blocks else []), column]
        if blocks and max(map(len, text_lines(wider, rows))) <= width:
            blocks[-1].append(column)
        else:
            blocks.append([column])
    lines = [["", *text_lines([*names, *block], rows)] for block in blocks]
    return [line for block in lines for line in block][1:]


def fitted_text(
    columns: Sequence[str], rows: ListedRows, width: int, *, n_names: int, above: Sequence[str], below: Sequence[str]
) -> str:
    """The lines of `fitted_lines` between the sentences `above` and `below`, wrapped at the width or at `LINE`."""
    head, foot = (
        [line for text in texts for line in textwrap.wrap(text, min(width, LINE)) or [""]] for texts in (above, below)
    )
    return "\n".join([*head, "", *fitted_lines(columns, rows, width, n_names=n_names), "", *foot])


def _grouped(value: Value) -> str:
    """A cell as text, with thousands separators in large integers."""
    return f"{value:,}" if type(value) is int and value > LARGE else str(plain(value))


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
