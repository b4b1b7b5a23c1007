"""Families at equal numbers of embedding parameters: a section for each budget, scores, and what a token costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hashbench.common.showing import amount
from hashbench.results.papers.paper import Column
from hashbench.results.read.budgets import recorded_budgets
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry
from hashbench.results.tables.experiment import COSTS, OF_MINUTES, own_table
from hashbench.results.tables.measures import View
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import Cell, Row, Table, mark_best

ONE_SIZE = "of one size"
OF_COSTS = (
    "Active a token: parameters that the vector of one token is computed from, of the word 'language'; bytes a token: "
    "the same in float32; multiply-adds: of matrix products, sums of rows count none."
)


def budget_table(source: ReportSource) -> list[Table]:
    """The experiment's own table with a section for each budget, and costs of embeddings in place of times."""
    own = own_table(source.measured, source.paper, evidence=source.evidence)
    scores = [column for column in own.columns if column.measure in ("score", "average")]
    columns = (*scores, *COSTS)
    budgets = recorded_budgets(source.measured.experiment.config)
    by_size: dict[float, list[Row]] = {}
    for row, entry in zip(own.rows, source.measured.entries, strict=False):  # behind them are imported rows
        if not row.is_baseline:
            fact = source.measured.fact(entry, COSTS[0].name)
            _, size = budgets.of(row.model, None if fact is None else fact.value)
            section = ONE_SIZE if size is None else amount(size)
            by_size.setdefault(size or math.inf, []).append(_row(source.measured, row, entry, columns, section))
    rows = [row for _, models in sorted(by_size.items()) for row in mark_best(models, columns)]
    rows += [replace(row, cells={**row.cells, **_no_costs(row)}) for row in own.rows if row.is_baseline]
    return [
        replace(
            own, number="budgets", title=f"Experiment {own.experiment}: embeddings at equal parameters",
            columns=columns, rows=tuple(rows),
            notes=(*(note for note in own.notes if not note.startswith(OF_MINUTES)), OF_COSTS), compares_sections=True,
        )
    ]  # fmt: skip


def _row(measured: Measured, row: Row, entry: Entry, columns: Sequence[Column], section: str) -> Row:
    cells = {**row.cells, **View(measured=measured, columns={}).cells(entry, COSTS)}
    kept = {column.name: replace(cells[column.name], best=False) for column in columns}
    return replace(row, cells=kept, section=section)


def _no_costs(row: Row) -> dict[str, Cell]:
    return {column.name: Cell(unit=column.unit) for column in COSTS}


TABLE = TableFile(
    "budgets",
    "families of embeddings at equal numbers of parameters, by budget, and what a token costs",
    budget_table,
    beside=lambda measured: bool(recorded_budgets(measured.experiment.config).sizes),
)
