"""Which cells get a flag: not above a trivial baseline, constant predictions, an F1 that accuracy does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hashbench.results.papers.column import Column
from hashbench.results.read.baselines import hollow_accuracy
from hashbench.results.read.entries import Entry
from hashbench.results.read.measured import Measured
from hashbench.results.tables.table import Cell, Row, mark_best

SCORED = ("score", "average", "prr", "prr_average")  # measures that baselines have too
TOLERANCE = 1e-9  # of sums of shares
StoredReading = tuple[str, str, str]  # task, metric, split


def flagged(measured: Measured, entry: Entry, cell: Cell, readings: Sequence[StoredReading]) -> Cell:
    """A model's cell with what must be said of its predictions; `readings`: the scores that it stands on."""
    if cell.value is None or entry.is_baseline:
        return cell
    if len(readings) == 1:
        runs = [run for task, _, _ in readings for run in entry.of_task(task)]
        return replace(cell, constant=any(run.run_id in measured.constant_runs for run in runs))
    hollow = [task for task, metric, split in readings if hollow_accuracy(measured, entry, task, metric, split)]
    return replace(cell, hollow_f1=bool(hollow))


def marked(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The same rows, with the best of each column marked, and what is not above a trivial baseline among the rows."""
    return mark_under(mark_best(list(rows), columns), [row for row in rows if row.is_baseline], columns)


def mark_under(rows: Sequence[Row], baselines: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The same rows, with the cells of models that are not above a trivial baseline on the same data marked."""
    by_row = [dict(row.cells) for row in rows]
    for column in columns:
        if column.measure not in SCORED or column.better != "high":
            continue
        for row, cells in zip(rows, by_row, strict=True):
            if row.kind in ("model", "family"):
                cell = cells[column.name]
                cells[column.name] = replace(cell, under=_not_beaten(cell, column, baselines))
    return [replace(row, cells=cells) for row, cells in zip(rows, by_row, strict=True)]


def _not_beaten(cell: Cell, column: Column, baselines: Sequence[Row]) -> str:
    """The best baseline of a column, where the cell is not above it; ''."""
    values: dict[str, float] = {}
    for row in baselines:  # a baseline has a row for each version of the data
        other = row.cells[column.name]
        if other.value is not None and _data(other.group) == _data(cell.group):
            values[row.title] = max(other.value, values.get(row.title, other.value))
    if cell.value is None or not values:
        return ""
    best = max(values, key=lambda title: values[title])
    return best if cell.value <= values[best] + TOLERANCE else ""


def _data(group: str) -> set[str]:
    """The fingerprints of the data in a cell's group: encoder and precision mean nothing to a baseline.

    >>> sorted(_data("tiny 32 f0|tiny bf16 f1")), _data("tiny  f0")
    (['f0', 'f1'], {'f0'})
    """
    return {part.rpartition(" ")[2] for part in group.split("|")}
