"""Reports from Python: `hashbench.report("glue_tiny")`, shown as tables by a notebook and as text elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import open_results
from hashbench.store.result import Checkpoint


@dataclass(frozen=True)
class Report:
    """Tables that a notebook shows as tables, by their markdown; `str` gives them as text for a terminal."""

    tables: tuple[Table, ...]

    def __str__(self) -> str:
        return render(self.tables)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return render(self.tables, "md")


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
