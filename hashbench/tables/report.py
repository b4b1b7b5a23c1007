"""The tables of a report as data: the experiment's own, or those of a paper."""

from __future__ import annotations

from dataclasses import replace

from hashbench.papers.paper import find_layout, load_paper
from hashbench.results.examples import Examples
from hashbench.results.measured import measure
from hashbench.store.engine import Store
from hashbench.tables.experiment import own_table
from hashbench.tables.links import has_links, link_tables
from hashbench.tables.notes import provenance, warnings
from hashbench.tables.paper import paper_table
from hashbench.tables.request import ReportRequest
from hashbench.tables.table import Table


def tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """The tables that were asked for, with what must be said of their data.

    Raises InputError for an experiment, paper or table that is not there.
    """
    if request.paper is not None:
        load_paper(request.paper)  # wrong input is said before anything is read
    measured = measure(store, request.experiment, checkpoint=request.checkpoint)
    paper = request.source(measured)
    for number in request.numbers():
        find_layout(paper, number)
    examples = Examples(store, request.checkpoint) if request.examples else None
    found = [
        paper_table(measured, paper, number, published=request.published, examples=examples)
        for number in request.numbers()
    ]
    if not found and has_links(measured):
        found = link_tables(measured, store if request.examples else None)
    found = found or [own_table(measured, paper, examples=examples, all_metrics=request.all_metrics)]
    return [
        replace(
            table,
            warnings=tuple(warnings(measured, paper, table)),
            provenance=tuple(provenance(measured, paper, table)) if table.paper or table is found[0] else (),
        )
        for table in found
    ]
