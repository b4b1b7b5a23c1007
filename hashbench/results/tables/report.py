"""The tables of a report as data: those of a name, those of a paper, or the experiment's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.results.papers.paper import Paper, check_number, load_paper, papers
from hashbench.results.read.measured import Measured, measure
from hashbench.results.tables.arranging import sorted_by, with_columns, with_models
from hashbench.results.tables.hyperparameters import hyperparameter_table, models_of
from hashbench.results.tables.notes import brief, provenance, score_notes, warnings
from hashbench.results.tables.paper import paper_table
from hashbench.results.tables.ranking import with_groups, with_ranks
from hashbench.results.tables.request import ReportRequest, ReportSource, TableFile, count_known, paper_of
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from hashbench.store.status import experiment_names

OWN = "own"  # the table of an experiment that no other file shows


def tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """The requested tables with their warnings and the provenance of their data.

    Raises InputError for an experiment, paper or table that is not there.
    """
    return tables_of(ReportSource(store, settled(store, request)))


def tables_of(source: ReportSource) -> list[Table]:
    """As `tables`, of results whose request names the experiment, if it has to (`settled`)."""
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
        return list(_annotated(source, files[name].make(source), warns_once=files[name].warns_once))
    if name in source.paper.hyperparameters:
        return [hyperparameter_table(source, name)]
    return list(_annotated(source, [paper_table(source, name)]))


def own_name(measured: Measured) -> str:
    """The name of an experiment's own tables, which are printed where none is named."""
    return next((name for name, of in registered("table").items() if of.shows(measured)), OWN)


def settled(store: Store, request: ReportRequest) -> ReportRequest:
    """The request, completed by the experiment that measured most columns of the paper's tables, if it names none.

    Of several the newest; without a paper the first of which anything was measured. A paper may be named in the place
    of an experiment, if no experiment has its name. Raises InputError, which lists what there is.
    """
    names = experiment_names(store)
    if request.experiment in papers() and request.experiment not in names and request.paper is None:
        request = replace(request, experiment=None, paper=request.experiment)
    numbers, files = request.numbers(), registered("table")
    if request.experiment or len(names) < 2 or not numbers or not set(numbers).isdisjoint(files):
        return request
    candidates = [request.paper] if request.paper else papers()
    having = [paper for paper in candidates if set(numbers) <= set(load_paper(paper).numbered)]
    for number in [] if having else numbers:
        check_number(load_paper(candidates[0]), number, list(files))
    measured = {name: measure(store, name, checkpoint=request.checkpoint) for name in names}
    for paper in having:
        filled = {name: _n_filled(store, measured[name], load_paper(paper), numbers) for name in names}
        best = max(names, key=lambda name: filled[name])  # of equal ones the newest
        if filled[best]:
            return replace(request, experiment=best, paper=paper)
    listed = {name: _listed(store, measured[name]) for name in names}
    raise InputError(
        f"{store.name}: no experiment has measured table {', '.join(numbers)} of {' or '.join(having)}; tables with "
        f"measured cells have: {', '.join(f'{name} ({words})' for name, words in listed.items() if words) or 'none'}; "
        "or name an experiment"
    )


def _n_filled(store: Store, measured: Measured, paper: Paper, numbers: Sequence[str]) -> int:
    """The number of columns with a measured number in a paper's tables; for hyper-parameters that of models."""
    if not count_known(paper.name, measured):
        return 0
    source = ReportSource(store, ReportRequest(measured.experiment.name, paper.name), read_before=measured)
    settings = [number for number in numbers if number in paper.hyperparameters]
    n_models = sum(len(models_of(measured, paper, number)) for number in settings)
    others = [paper_table(source, number) for number in numbers if number not in settings]
    return n_models + sum(len(measured_columns(table)) for table in others)


def _listed(store: Store, measured: Measured) -> str:
    """The tables of an experiment's paper in which something was measured, as 'hashformers 1, 2'; or ''."""
    paper = paper_of(measured)
    filled = [number for number in paper.tables if _n_filled(store, measured, paper, [number])]
    return f"{paper.name} {', '.join(filled)}" if filled else ""


def measured_columns(table: Table) -> list[str]:
    """Names of the columns with a measured number in any row that has a published number."""
    rows = [row for row in table.rows if row.kind in ("model", "family", "task")]
    rows = [row for row in rows if any(cell.published is not None for cell in row.cells.values())]
    return [column.name for column in table.columns if any(row.cells[column.name].value is not None for row in rows)]


def _annotated(source: ReportSource, tables: Sequence[Table], *, warns_once: bool = False) -> Iterator[Table]:
    """The tables with their groups of the best, warnings, and provenance for a paper's tables and for the first one."""
    for place, table in enumerate(tables):
        table = with_groups(table, source.draws)
        warning_lines = () if place and warns_once else warnings(source.measured, source.paper, table)
        lines = provenance(source.measured, source.paper, table) if not place or table.paper else []
        lines = lines if source.request.provenance else brief(lines)
        notes = (*table.notes, *score_notes(source.measured, table))
        untuned = {task for task, _, _ in table.readings} <= set(source.measured.untuned_tasks())
        several = {n for n in source.measured.pretrainings_of.values() if n > 1}
        starts = () if table.readings and untuned else tuple(sorted(several))
        table = replace(table, warnings=tuple(warning_lines), provenance=tuple(lines), notes=notes, pretrainings=starts)
        yield with_ranks(table) if source.request.ranks else table
