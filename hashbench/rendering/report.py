"""`hashbench report`: the tables of an experiment as text, markdown, CSV, JSON or LaTeX."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from hashbench.errors import InputError, near_match
from hashbench.rendering.files import write_whole
from hashbench.rendering.render import FORMATS, Format, render
from hashbench.store.engine import Store
from hashbench.tables.report import tables
from hashbench.tables.request import ReportRequest
from hashbench.tables.table import Table

WIDTH = 100  # columns where there is no terminal to ask


def report(
    store: Store,
    request: ReportRequest = ReportRequest(),
    *,
    format: str = "text",
    output: Path | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """The tables as one text, written to `output` too where one is given.

    CSV and JSON hold rows alone: what is said loudly about the data then goes to stderr.

    Raises InputError for an experiment, paper, table or format that is not there.
    """
    if format not in FORMATS:
        near = near_match(format, list(FORMATS))
        raise InputError(f"--format: no format {format!r}{near}; there are: {', '.join(FORMATS)}")
    found = tables(store, request)
    if format in ("csv", "json"):
        for line in _loud_lines(found):
            print(f"!! {line}", file=sys.stderr)
    text = render(found, _known(format), width=width or shutil.get_terminal_size((WIDTH, 24)).columns, color=color)
    if output is not None:
        write_whole(output, text)
    return text


def _known(name: str) -> Format:
    """The format of a name that was checked."""
    return next(format for format in FORMATS if format == name)


def _loud_lines(found: Sequence[Table]) -> list[str]:
    """What is said of the data in all tables, each line once."""
    return list(dict.fromkeys(line for table in found for line in table.warnings))
