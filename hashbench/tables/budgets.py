"""Families at equal numbers of embedding parameters: a section for each budget, scores, and what a token costs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hashbench.papers.column import Column
from hashbench.results.entries import Entry
from hashbench.results.measured import Measured
from hashbench.tables.cells import fact_cell
from hashbench.tables.experiment import OF_MINUTES, own_table
from hashbench.tables.request import ReportSource, TableFile
from hashbench.tables.table import Cell, Row, Table, comparable, mark_best

SIZED = re.compile(r"(?P<family>.+)-(?P<amount>\d+(\.\d+)?(?P<unit>[kM]))")  # a model at one of several budgets
UNITS = {"k": 1e3, "M": 1e6}
FAR = 1.5  # times: a budget is met within 2 %, and papers leave parts of an embedding out of their counts
FLOAT_BYTES = 4  # of a parameter in float32
COSTS = (
    Column("emb_params", "params", "fact", "params", subtitle="embedding"),
    Column("active_params", "count", "fact", "params", better="low", subtitle="active a token"),
    Column("total_params", "params", "fact", "params", subtitle="all"),
    Column("bytes_per_token", "bytes", "fact", "bytes", better="low", subtitle="a token", fact="active_params",
           factor=FLOAT_BYTES),
    Column("multiply_adds", "count", "fact", "multiply-adds", better="low", subtitle="a token"),
)  # fmt: skip
ONE_SIZE = "of one size"
OF_COSTS = (
    "Active a token: parameters that the vector of one token is computed from, of the word 'language'; bytes a token: "
    "the same in float32; multiply-adds: of matrix products, sums of rows count none."
)


def family_of(label: str, parameters: float | None) -> tuple[str, str]:
    """A model's name without its budget, and the budget; '' where it has none.

    `parameters`: of its embedding, None where unknown. A number in a name that is far from them counts something else.

    >>> family_of("hash-emb-k2-0.23M", 231_000), family_of("uno-eelbert", 0), family_of("md-emb-50k", 6_433_280)
    (('hash-emb-k2', '0.23M'), ('uno-eelbert', ''), ('md-emb-50k', ''))
    """
    found = SIZED.fullmatch(label)
    if found is None:
        return label, ""
    is_far = parameters is not None and not 1 / FAR < parameters / size_of(found["amount"]) < FAR
    return (label, "") if is_far else (found["family"], found["amount"])


def embedding_parameters(row: Row) -> float | None:
    """Of a row of a table, None where they are not known."""
    return comparable(row.cells["emb_params"]) if "emb_params" in row.cells else None


def budget_table(source: ReportSource) -> list[Table]:
    """The experiment's own table, its models by budget, with their costs in place of times."""
    own = own_table(source.measured, source.paper, evidence=source.evidence)
    scores = [column for column in own.columns if column.measure in ("score", "average")]
    columns = (*scores, *COSTS)
    models = [
        _row(source.measured, row, entry, columns)
        for row, entry in zip(own.rows, source.measured.entries, strict=True)
        if not row.is_baseline
    ]
    rows = []
    for amount in sorted({row.section for row in models}, key=size_of):
        rows += mark_best([row for row in models if row.section == amount], columns)
    rows += [replace(row, cells={**row.cells, **_no_costs(row)}) for row in own.rows if row.is_baseline]
    return [
        replace(
            own, number="budgets", title=f"Experiment {own.experiment}: embeddings at equal parameters",
            columns=columns, rows=tuple(rows), notes=(*(note for note in own.notes if note != OF_MINUTES), OF_COSTS),
        )
    ]  # fmt: skip


def _row(measured: Measured, row: Row, entry: Entry, columns: Sequence[Column]) -> Row:
    amount = family_of(row.model, embedding_parameters(row))[1]
    costs = {column.name: fact_cell(measured, entry, column) for column in COSTS}
    cells = {**row.cells, **costs}
    kept = {column.name: replace(cells[column.name], best=False) for column in columns}
    return replace(row, cells=kept, section=amount or ONE_SIZE)


def _no_costs(row: Row) -> dict[str, Cell]:
    return {column.name: Cell(unit=column.unit) for column in COSTS}


def size_of(section: str) -> float:
    """The parameters of a budget, infinite for what has none.

    >>> size_of("0.23M"), size_of("of one size")
    (230000.0, inf)
    """
    found = SIZED.fullmatch(f"x-{section}")
    return float(found["amount"][:-1]) * UNITS[found["unit"]] if found else float("inf")


TABLE = TableFile(
    "budgets", "families of embeddings at equal numbers of parameters, by budget, and what a token costs", budget_table
)
