"""The tables of a report as data: a named table, the tables of a paper, or the experiment's own.

With --models, --columns and --sort they have some rows or columns alone, in the order of a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import groupby

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered
from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column, check_number, load_paper
from hashbench.results.read.measured import Measured
from hashbench.results.read.origins import UNDEFINED_DRAWS, counted_classes
from hashbench.results.tables.hyperparameters import hyperparameter_table
from hashbench.results.tables.notes import brief, provenance, readings_behind, warnings
from hashbench.results.tables.paper import paper_table
from hashbench.results.tables.ranking import with_groups, with_ranks
from hashbench.results.tables.request import ReportRequest, ReportSource, TableFile
from hashbench.results.tables.table import SCORES, SIZES, Cell, Row, Table
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


def has_measured(table: Table) -> bool:
    """True where a row with a published number has a measured number too."""
    rows = [row.cells.values() for row in table.rows if row.kind in ("model", "family", "task")]
    rows = [cells for cells in rows if any(cell.published is not None for cell in cells)]
    return any(cell.value is not None for cells in rows for cell in cells)


def _annotated(source: ReportSource, tables: Sequence[Table]) -> Iterator[Table]:
    """The tables with their groups of the best; papers' tables and the first one also with warnings and provenance."""
    for place, table in enumerate(tables):
        table = with_groups(table, source.draws)
        is_explained = not place or bool(table.paper)
        warning_lines = warnings(source.measured, source.paper, table) if is_explained else []
        lines = provenance(source.measured, source.paper, table) if is_explained else []
        untuned = {task for task, _, _ in table.readings} <= set(source.measured.untuned_tasks())
        several = {n for n in source.measured.pretrainings_of.values() if n > 1}
        starts = () if table.readings and untuned else tuple(sorted(several))
        table = replace(
            table, warnings=tuple(warning_lines), provenance=tuple(lines), pretrainings=starts,
            notes=(*table.notes, *draw_notes(table)), details=(*table.details, *class_notes(source.measured, table)),
        )  # fmt: skip
        table = table if source.request.provenance else brief(table)
        yield with_ranks(table) if source.request.ranks else table


OF_MODELS = ("model", "floor", "imported", "quoted")  # kinds of rows


def with_models(tables: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """The tables with the rows of these models and baselines alone; a name may be a pattern of fnmatch.

    Marks and ranks stay those among all models, which a note says: to compare only the chosen ones would be to choose
    them by their scores. Raises InputError for a name in no table, and where no table has rows of models.
    """
    there = list(dict.fromkeys(name for table in tables for row in table.rows for name in _names(row)))
    if not there:
        raise InputError("--models: the rows of this table are no models; leave --models away")
    for wanted in names:
        if not any(fnmatchcase(name, wanted) for name in there):
            hint = near_match(wanted, there) or f"; there are: {', '.join(there)}"
            raise InputError(f"--models: no row of {wanted!r} in this table{hint}")
    return [_picked(table, names) for table in tables]


def _picked(table: Table, names: Sequence[str]) -> Table:
    every = [row for row in table.rows if row.kind in OF_MODELS]
    kept = [row for row in every if any(fnmatchcase(name, wanted) for name in _names(row) for wanted in names)]
    note = f"{len(kept)} of {len(every)} rows are shown; marks and ranks are those among all of them."
    return replace(table, rows=tuple(kept), notes=(note, *table.notes))


def _names(row: Row) -> list[str]:
    """The names by which a user knows the model of a row; none for a row of another kind."""
    return list(dict.fromkeys((row.model, row.title.strip()))) if row.kind in OF_MODELS else []


def with_columns(tables: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """The tables with these columns alone, in this order, each named as for `sorted_by`; without tables that have none.

    Raises InputError for a column that no table has, or a name that fits several.
    """
    chosen = [[_column(table, name, "--columns") for name in names] for table in tables]
    for place, name in enumerate(names):
        if not any(columns[place] for columns in chosen):
            raise _absent(tables, name, "--columns")
    kept = [
        replace(table, columns=tuple(column for column in columns if column is not None))
        for table, columns in zip(tables, chosen, strict=True)
    ]
    return [table for table in kept if table.columns]


def _absent(tables: Sequence[Table], name: str, option: str) -> InputError:
    there = list(dict.fromkeys(column.name for table in tables for column in table.columns))
    return InputError(f"{option}: no column {name!r}{near_match(name, there)} (there is: {', '.join(there)})")


def sorted_by(tables: Sequence[Table], name: str) -> list[Table]:
    """The tables with the rows of each section in the order of a column: the best first, else ascending; missing last.

    The column is named by its key, its heading, or the words below the heading. A table without it stays as it is.
    Raises InputError where no table has it, where the name fits several columns, and for a column without numbers.
    """
    columns = [_column(table, name, "--sort") for table in tables]
    if not any(columns):
        raise _absent(tables, name, "--sort")
    numbers = [
        _number(row.cells[column.name])
        for table, column in zip(tables, columns, strict=True) if column is not None
        for row in table.rows
    ]  # fmt: skip
    if all(number is None for number in numbers):
        raise InputError(f"--sort: column {name!r} has no number to sort by; name another")
    return [table if column is None else _sorted(table, column) for table, column in zip(tables, columns, strict=True)]


def _column(table: Table, name: str, option: str) -> Column | None:
    """The column of a name; a key comes before a heading, and a heading before the words below it."""
    wanted = name.strip().lower()
    for of in (lambda it: [it.name], lambda it: [it.title, f"{it.title} {it.subtitle}"], lambda it: [it.subtitle]):
        named = [column for column in table.columns if wanted in map(str.lower, of(column))]
        if len(named) > 1:
            raise InputError(
                f"{option}: {name!r} names the columns {', '.join(column.name for column in named)}; name one"
            )
        if named:
            return named[0]
    return None


def _sorted(table: Table, column: Column) -> Table:
    down = -1.0 if column.better == "high" else 1.0

    def place(row: Row) -> tuple[bool, float]:
        number = _number(row.cells[column.name])
        return (number is None, down * (number or 0.0))

    sections = groupby(table.rows, key=lambda row: (row.section, row.kind in OF_MODELS))
    return replace(table, rows=tuple(row for _, rows in sections for row in sorted(rows, key=place)))


def _number(cell: Cell) -> float | None:
    """The measured number of a cell in one unit for all rows; the middle of a range."""
    if cell.value is None:
        return None
    middle = cell.value if cell.value_high is None else (cell.value + cell.value_high) / 2
    return middle * SIZES.get(cell.unit, 1.0)


def class_notes(measured: Measured, table: Table) -> list[str]:
    """Notes on the class whose F1 is counted."""
    if not {column.measure for column in table.columns} & SCORES:
        return []
    readings = readings_behind(measured, table) or [
        (run.task or "", run.metric, "") for run in measured.runs if run.metric
    ]
    return counted_classes(measured, readings)


def draw_notes(table: Table) -> list[str]:
    """The note on draws that intervals leave out, or none."""
    undefined = [
        f"{row.title.strip()} on {column.title} {decimal_text(cell.undefined, 1)} %"
        for row in table.rows
        for column in table.columns
        if (cell := row.cells[column.name]).undefined
    ]
    return [f"{UNDEFINED_DRAWS}: {', '.join(undefined)}."] if undefined else []
