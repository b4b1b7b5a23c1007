"""The tables of a report as data: those of a name, those of a paper, or the experiment's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hashbench.common.registry import registered
from hashbench.results.papers.paper import check_number, load_paper
from hashbench.results.read.measured import Measured
from hashbench.results.tables.arranging import sorted_by, with_columns, with_models
from hashbench.results.tables.hyperparameters import hyperparameter_table
from hashbench.results.tables.notes import brief, provenance, score_notes, warnings
from hashbench.results.tables.paper import paper_table
from hashbench.results.tables.ranking import with_groups, with_ranks
from hashbench.results.tables.request import ReportRequest, ReportSource, TableFile
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store

OWN = "own"  # the table of an experiment that no other file shows


def tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """The requested tables with their warnings and the provenance of their data.

    Raises InputError for an experiment, paper or table that is not there.
    """
    return tables_of(ReportSource(store, request))


def tables_of(source: ReportSource) -> list[Table]:
    """As `tables`, of results that are read already."""
    request = source.request
    if request.paper is not None:
        load_paper(request.paper)  # a wrong name is an error before anything is read
    files: Mapping[str, TableFile] = registered("table")
    for name in request.numbers():
        if name not in files:
            check_number(source.paper, name, list(files))
    printed: list[Table] = []
    for name in request.numbers() or [own_name(source.measured)]:
        key = (name, replace(request, table=None, sort=None, columns=()))
        if key not in source.made_before:
            source.made_before[key] = _made(source, name)
        printed += source.made_before[key]
    printed = with_models(printed, request.models) if request.models else printed
    printed = printed if request.sort is None else sorted_by(printed, request.sort)
    return with_columns(printed, request.columns) if request.columns else printed


def _made(source: ReportSource, name: str) -> list[Table]:
    """The tables of a file's name, or the one of a paper's number, with notes."""
    files = registered("table")
    if name in files:
        return list(_annotated(source, files[name].make(source)))
    if name in source.paper.hyperparameters:
        return [hyperparameter_table(source, name)]
    return list(_annotated(source, [paper_table(source, name)]))


def own_name(measured: Measured) -> str:
    """The name of an experiment's own tables, which are printed where none is named."""
    return next((name for name, of in registered("table").items() if of.shows(measured)), OWN)


def measured_columns(table: Table) -> list[str]:
    """Names of the columns with a measured number in any row that has a published number."""
    rows = [row for row in table.rows if row.kind in ("model", "family", "task")]
    rows = [row for row in rows if any(cell.published is not None for cell in row.cells.values())]
    return [column.name for column in table.columns if any(row.cells[column.name].value is not None for row in rows)]


def _annotated(source: ReportSource, tables: Sequence[Table]) -> Iterator[Table]:
    """The tables with their groups of the best; those of papers and the first one also with warnings and provenance."""
    for place, table in enumerate(tables):
        table = with_groups(table, source.draws)
        is_explained = not place or bool(table.paper)
        warning_lines = warnings(source.measured, source.paper, table) if is_explained else []
        lines = provenance(source.measured, source.paper, table) if is_explained else []
        lines = lines if source.request.provenance else brief(lines)
        notes = (*table.notes, *score_notes(source.measured, table))
        untuned = {task for task, _, _ in table.readings} <= set(source.measured.untuned_tasks())
        several = {n for n in source.measured.pretrainings_of.values() if n > 1}
        starts = () if table.readings and untuned else tuple(sorted(several))
        table = replace(table, warnings=tuple(warning_lines), provenance=tuple(lines), notes=notes, pretrainings=starts)
        yield with_ranks(table) if source.request.ranks else table
