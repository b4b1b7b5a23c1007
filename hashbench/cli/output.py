"""Rows on stdout: aligned text, markdown, CSV or JSON."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Mapping, Sequence

from hashbench.cli.options import Format

MISSING = "–"  # stands among numbers for one that there is none of
LARGE = 9999  # whole numbers above it are printed with commas in text
Value = str | int | float | None | Sequence[int] | Sequence[str]
Rows = Sequence[Mapping[str, Value]]


def print_rows(columns: Sequence[str], rows: Rows, style: Format) -> None:
    """Prints rows with these columns. CSV and JSON are for programs: a missing value is empty or null."""
    if style is Format.json:
        print(json.dumps([{name: row[name] for name in columns} for row in rows], indent=2, ensure_ascii=False))
    elif style is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    elif style is Format.md:
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for row in rows:
            print(f"| {' | '.join(_cell(row[name]).replace('|', chr(92) + '|') for name in columns)} |")
    else:
        _print_text(columns, rows)


def note(message: str) -> None:
    """A remark for the person at the terminal; stdout stays free for results."""
    print(message, file=sys.stderr)


def colored() -> bool:
    """Whether stdout may be colored: a terminal, and NO_COLOR not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    return " ".join(str(each) for each in value)


def _grouped(value: Value) -> str:
    """A cell for people: large whole numbers with commas."""
    return f"{value:,}" if type(value) is int and value > LARGE else _cell(value)


def _print_text(columns: Sequence[str], rows: Rows) -> None:
    for line in text_lines(columns, rows):
        print(line)


def text_lines(columns: Sequence[str], rows: Rows) -> list[str]:
    """A line of names, then one a row: columns as wide as their longest cell, numbers to the right.

    No wrapping, so that `grep` finds whole rows.
    """
    cells = [[_grouped(row[name]) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells), 0) for i, name in enumerate(columns)]
    right = [all(isinstance(row[c], int | float | None) or row[c] == MISSING for row in rows) for c in columns]
    lines = []
    for line in [list(columns), *cells]:
        parts = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return lines
