"""`hashbench report` without a further word: tables, or one page."""

from __future__ import annotations

from pathlib import Path

from hashbench.cli.output import colored
from hashbench.store.engine import open_store
from hashbench.tables.request import ReportRequest


def print_tables(db: str, request: ReportRequest, style: str, output: Path | None) -> None:
    """Prints tables in one of the formats, into a file too where one is named."""
    from hashbench.rendering.report import report

    store = open_store(db, create=False, read_only=True)
    text = report(store, request, format=style, output=output, color=colored())
    print(text.rstrip("\n"))


def print_page(db: str, request: ReportRequest, output: Path | None) -> None:
    """Writes the page to a file, or prints it where none is named: it is no use on a terminal."""
    from hashbench.rendering.page.main import page

    text = page(open_store(db, create=False, read_only=True), request, output=output)
    if output is None:
        print(text.rstrip("\n"))
