"""The tables of a report as data: those of a name, those of a paper, or the experiment's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hashbench.papers.paper import find_layout, load_paper
from hashbench.store.engine import Store
from hashbench.tables.notes import provenance, warnings
from hashbench.tables.paper import paper_table
from hashbench.tables.registry import OWN, table_files
from hashbench.tables.request import ReportRequest, ReportSource
from hashbench.tables.table import Table


def tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """The tables that were asked for, with what must be said of their data.

    Raises InputError for an experiment, paper or table that is not there.
    """
    if request.paper is not None:
        load_paper(request.paper)  # wrong input is said before anything is read
    source, files = ReportSource(store, request), table_files()
    for name in request.numbers():
        if name not in files:
            find_layout(source.paper, name)
    printed: list[Table] = []
    for name in request.numbers() or [next((name for name in files if files[name].shows(source.measured)), OWN)]:
        if name in files:
            printed += noted(source, files[name].make(source), warns_once=files[name].warns_once)
        else:
            printed += noted(source, [paper_table(source, name)])
    return printed


def noted(source: ReportSource, tables: Sequence[Table], *, warns_once: bool = False) -> Iterator[Table]:
    """Tables of one name with their warnings; what they stand on is said under a paper's and the first of others."""
    for place, table in enumerate(tables):
        said = () if place and warns_once else warnings(source.measured, source.paper, table)
        facts = () if place and not table.paper else provenance(source.measured, source.paper, table)
        yield replace(table, warnings=tuple(said), provenance=tuple(facts))
