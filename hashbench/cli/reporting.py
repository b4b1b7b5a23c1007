"""`hashbench report` without a further word: tables, or one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hashbench.cli.claims import operations
from hashbench.cli.output import colored
from hashbench.store.engine import open_store
from hashbench.store.result import Checkpoint


@dataclass(frozen=True)
class Tables:
    """Which tables of which experiment, and what is in them."""

    experiment: str | None
    paper: str | None
    table: str | None
    published: bool
    examples: bool
    all_metrics: bool
    checkpoint: Checkpoint


def print_tables(db: str, wanted: Tables, style: str, output: Path | None) -> None:
    """Prints tables in one of the formats, into a file too where one is named."""
    from hashbench.rendering.report import report

    store = open_store(db, create=False, read_only=True)
    text = report(store, format=style, output=output, color=colored(), **vars(wanted))
    print(text.rstrip("\n"))


def print_page(db: str, wanted: Tables, output: Path | None) -> None:
    """Writes the page to a file, or prints it where none is named: it is no use on a terminal."""
    from hashbench.rendering.page.main import page

    text = page(open_store(db, create=False, read_only=True), output=output, costs=operations, **vars(wanted))
    if output is None:
        print(text.rstrip("\n"))
