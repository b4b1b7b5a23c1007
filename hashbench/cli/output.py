"""Printing: rows and tables on stdout, remarks on stderr, and a copy in a file that --output names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hashbench.cli import streams
from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.showing import printable, without_passwords

if TYPE_CHECKING:  # every command imports this file, and --help renders nothing
    from hashbench.results.rendering.rows import ListedRows
    from hashbench.results.tables.table import Table
    from hashbench.store.engine import Store


def show(text: str, *, end: str = "\n") -> None:
    """Prints a text with escapes in place of control characters, which a database from elsewhere may contain."""
    print(printable(text), end=end, flush=True)


def print_rows(columns: Sequence[str], rows: ListedRows, style: str, people: ListedRows | None = None) -> None:
    """Prints rows with these columns in a format; `people`: in words, for formats that people read."""
    from hashbench.results.rendering.rows import listing

    print_tables([listing(columns, rows, people)], style)


def print_json(value: object) -> None:
    """Prints a value as JSON."""
    from hashbench.results.rendering.rows import json_text

    show(json_text(value), end="")


def print_tables(tables: Sequence[Table], format: str, output: Path | None = None) -> None:
    """Prints tables, and writes them to `output`. Warnings go to stderr for a format of rows alone, such as CSV.

    Raises InputError for an unknown format and a file that cannot be written.
    """
    from hashbench.results.rendering.registry import find_renderer, render

    if find_renderer(format).rows_only:
        for line in dict.fromkeys(line for table in tables for line in table.warnings):
            note(f"!! {line}")
    print_text(render(tables, format, color=colored()), output)


def print_text(text: str, output: Path | None = None) -> None:
    """Prints a report, and writes it to `output`. Raises InputError for a file that cannot be written."""
    if output is not None:
        write_output(output, text)
        if streams.stdout_was_closed():
            return
    print(text.rstrip("\n"))


def write_output(output: Path, text: str) -> None:
    """Replaces a file in one step. Raises InputError for a file that cannot be written."""
    try:
        replace_text(output, text)
    except OSError as error:
        raise InputError(f"--output {output}: {error.strerror}; give a file in a folder that exists") from error


def note(message: str) -> None:
    """Prints a remark on stderr, so that stdout has results alone."""
    print(printable(without_passwords(message)), file=sys.stderr)


def note_unread(store: Store) -> None:
    """Prints a remark on each run whose stored outputs could not be read, where the result does not say so."""
    for run_id, why in store.unreadable.items():
        note(f"{store.name}: run {run_id[:12]}: its outputs cannot be read, so it has no interval: {why}")


def colored() -> bool:
    """True where stdout may be colored: it is a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
