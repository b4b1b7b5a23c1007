"""The tables of a report as data: those of a name, those of a paper, or the experiment's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Paper, find_layout, load_paper, papers
from hashbench.results.read.measured import Measured, measure
from hashbench.results.tables.notes import provenance, warnings
from hashbench.results.tables.paper import paper_table
from hashbench.results.tables.registry import OWN, table_files
from hashbench.results.tables.request import ReportRequest, ReportSource, count_known, paper_of
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from hashbench.store.status import experiments


def tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """The tables that were asked for, with what must be said of their data.

    Raises InputError for an experiment, paper or table that is not there.
    """
    request = settled(store, request)
    if request.paper is not None:
        load_paper(request.paper)  # wrong input is said before anything is read
    source, files = ReportSource(store, request), table_files()
    for name in request.numbers():
        if name not in files:
            find_layout(source.paper, name, list(files))
    printed: list[Table] = []
    for name in request.numbers() or [next((name for name in files if files[name].shows(source.measured)), OWN)]:
        if name in files:
            printed += noted(source, files[name].make(source), warns_once=files[name].warns_once)
        else:
            printed += noted(source, [paper_table(source, name)])
    return printed


def settled(store: Store, request: ReportRequest) -> ReportRequest:
    """The request with an experiment for a paper's tables: without a name the one that measured most of their columns.

    Of several the newest; without a paper the first of which anything was measured. Raises InputError, which lists what
    there is.
    """
    names = list(dict.fromkeys(experiment.name for experiment in experiments(store)))
    numbers = request.numbers()
    if request.experiment or len(names) < 2 or not numbers or not set(numbers).isdisjoint(table_files()):
        return request
    asked = [request.paper] if request.paper else papers()
    having = [paper for paper in asked if set(numbers) <= set(load_paper(paper).tables)]
    for number in [] if having else numbers:
        find_layout(load_paper(asked[0]), number, list(table_files()))
    known = {name: measure(store, name, checkpoint=request.checkpoint) for name in names}
    for paper in having:
        filled = {name: _columns_measured(store, known[name], load_paper(paper), numbers) for name in names}
        best = max(names, key=lambda name: filled[name])  # of equal ones the newest
        if filled[best]:
            return replace(request, experiment=best, paper=paper)
    listed = {name: _listed(store, known[name]) for name in names}
    raise InputError(
        f"{store.name}: no experiment has measured table {', '.join(numbers)} of {' or '.join(having)}; tables with "
        f"measured cells have: {', '.join(f'{name} ({words})' for name, words in listed.items() if words) or 'none'}; "
        "or name an experiment"
    )


def _columns_measured(store: Store, measured: Measured, paper: Paper, numbers: Sequence[str]) -> int:
    if not count_known(paper.name, measured):
        return 0
    source = ReportSource(store, ReportRequest(measured.experiment.name, paper.name), read_before=measured)
    return sum(len(measured_columns(paper_table(source, number))) for number in numbers)


def _listed(store: Store, measured: Measured) -> str:
    """'hashformers 1, 2': the tables of an experiment's paper in which something was measured."""
    paper = paper_of(measured)
    found = [number for number in paper.tables if _columns_measured(store, measured, paper, [number])]
    return f"{paper.name} {', '.join(found)}" if found else ""


def measured_columns(table: Table) -> list[str]:
    """The columns with a measured number in a row that the paper has: one with a published number."""
    rows = [row for row in table.rows if row.kind in ("model", "family", "task")]
    rows = [row for row in rows if any(cell.published is not None for cell in row.cells.values())]
    return [column.name for column in table.columns if any(row.cells[column.name].value is not None for row in rows)]


def noted(source: ReportSource, tables: Sequence[Table], *, warns_once: bool = False) -> Iterator[Table]:
    """Tables of one name with their warnings; what they stand on is said under a paper's and the first of others."""
    for place, table in enumerate(tables):
        said = () if place and warns_once else warnings(source.measured, source.paper, table)
        told = source.request.provenance and (not place or bool(table.paper))
        facts = provenance(source.measured, source.paper, table) if told else ()
        yield replace(table, warnings=tuple(said), provenance=tuple(facts))
