"""What a column of a paper's table may ask for, and how a cell is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hashbench.results.papers.column import Column
from hashbench.results.papers.paper import Layout, Paper, Section, Variant
from hashbench.results.read.entries import Entry
from hashbench.results.read.measured import AVERAGE, PERCENT, Measured, Ratio
from hashbench.results.read.runs import SeedScore
from hashbench.results.read.samples import Evidence
from hashbench.results.tables.cells import average_cell, fact_cell, score_cell
from hashbench.results.tables.table import Cell


@dataclass(frozen=True)
class RowView:
    """One of the ways in which a paper's table reads a model, a row each, and what its cells are made from."""

    measured: Measured
    paper: Paper
    number: str  # of the table
    columns: Mapping[str, Column]  # by name, each score with the metric and split that are read
    layout: Layout
    ratios: Mapping[tuple[str, str, str], Ratio]  # by (model, encoder, task)
    evidence: Evidence | None
    variant: Variant
    settings: str  # what sets the rows of this view apart

    def read(self, entry: Entry, name: str) -> list[SeedScore]:
        """The scores that a column reads, one a finished run."""
        column = self.columns[name]
        return self.measured.read(entry, column.task or "", column.metric, column.split)

    def cell(self, entry: Entry, column: Column) -> Cell:
        """The cell of a row and a column."""
        return MEASURES[column.measure](self, entry, column)

    def readings(self, column: Column) -> list[tuple[str, str, str]]:
        """(task, metric, split) of the scores that a cell of a column stands on."""
        if column.measure in ("prr", "prr_average"):
            known = self.measured.readings(self.paper.name)
            tasks = [column.task] if column.task else list(known)
            return [(task, *known[task]) for task in tasks if task in known]
        if column.measure == "score":
            read = [column]
        else:
            names = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
            read = [self.columns[name] for name in names if name in self.columns] if column.measure == "average" else []
        return [(each.task, each.metric, each.split) for each in read if each.task]

    def printed(self, key: str, column: Column, *, listed: bool = True) -> Cell:
        """An empty cell with the published number. `listed`: whether the paper's table has the row."""
        for table in (self.number, *self.layout.also):
            if (table, key, column.name) in self.paper.numbers:
                return Cell(published=self.paper.numbers[table, key, column.name])
        return Cell(unavailable=listed and column.unavailable)

    def printed_row(self, key: str, section: Section) -> dict[str, Cell]:
        """The cells of a row of which nothing was measured."""
        return {name: self.printed(key, column, listed=section.printed) for name, column in self.columns.items()}

    def partner(self, entry: Entry, column: Column) -> tuple[Entry | None, str]:
        """The other model of a comparison, or why there is none ('' where none is meant)."""
        name = self.layout.pairs.get(entry.model, "") if column.against == "pair" else column.against
        if not name or name == entry.model or entry.is_baseline:
            return None, ""
        other = self.measured.find_entry(name)
        return other, "" if other else f"no {name} to compare with"


def _score(view: RowView, entry: Entry, column: Column) -> Cell:
    if not column.task:  # a table over all tasks that have the metric, and the experiment has none
        return Cell(reason=f"no task with {column.metric}")
    return score_cell(
        entry, column.task, lambda one, _: view.read(one, column.name), view.evidence, view.paper.statistic
    )


def _difference(view: RowView, entry: Entry, column: Column, *, sign: float) -> Cell:
    """This model's value of another column minus the other model's, in points; with `sign` -1 the other way round."""
    other, reason = view.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    name = view.layout.of.get(entry.model, column.of)
    ours, theirs = (view.cell(one, view.columns[name]) for one in (entry, other))
    if ours.value is None or theirs.value is None:
        return Cell(reason=f"no {name} of both models")
    if not entry.shares_data(other):
        return Cell(reason="measured on other data than the model it is compared with")
    return Cell(value=sign * (ours.value - theirs.value), unit="points", group=column.against)


def _fact_ratio(view: RowView, entry: Entry, column: Column, *, formula: Callable[[float, float], float]) -> Cell:
    other, reason = view.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    ours, theirs = (view.measured.fact(one, column.fact) for one in (entry, other))
    if ours is None or theirs is None or not ours.value or not theirs.value:
        return Cell(reason=f"no {column.fact} of both models")
    return Cell(value=formula(ours.value, theirs.value), unit=column.unit, group=column.against)


def _setting(view: RowView, entry: Entry, column: Column, *, power: int = 1) -> Cell:
    """A number that was asked for, where it stands in the spec of the model's runs."""
    runs = entry.runs or tuple(run for run in view.measured.runs if run.model == entry.model)
    value = _at(runs[0].spec, column.path) if runs and not entry.is_baseline else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell()  # a size's own value, or a model without it
    return Cell(value=float(value) ** power, unit=column.unit)


def _at(spec: Any, path: str) -> Any:
    """A value of nested mappings; None where there is none.

    >>> _at({"model": {"coder": {"alpha": 5}}}, "model.coder.alpha"), _at({"model": None}, "model.coder")
    (5, None)
    """
    for key in path.split("."):
        spec = spec.get(key) if isinstance(spec, dict) else None
    return spec


def _ratio(view: RowView, entry: Entry, column: Column) -> Cell:
    """PRR in percent as the store forms it, for a task or the 'average' of all tasks of the paper."""
    task, measured = column.task or AVERAGE, view.measured
    cell = Cell(unit="percent", group=entry.group([column.task] if column.task else view.paper.tasks))
    if not (measured.has_one_entry(entry.model) and measured.has_one_entry(measured.experiment.baseline)):
        return replace(cell, reason="settings differ between runs of one model, or no baseline")
    ratio = view.ratios.get((entry.model, entry.encoder, task))
    if ratio is None:
        return replace(cell, reason="no score of the model or of the baseline")
    if ratio.value is None:
        return replace(cell, reason="no ratio: a score is missing or the baseline's is not above 0")
    if task == AVERAGE and ratio.n_tasks < len(view.paper.tasks):
        return replace(cell, reason=f"only {ratio.n_tasks} of {len(view.paper.tasks)} tasks")
    return replace(cell, value=PERCENT * ratio.value)


MEASURES: dict[str, Callable[[RowView, Entry, Column], Cell]] = {
    "score": _score,
    "average": lambda view, entry, column: average_cell(
        entry, column.tasks, view.read, view.evidence, view.paper.statistic
    ),
    "prr": _ratio,
    "prr_average": _ratio,
    "fact": lambda view, entry, column: fact_cell(view.measured, entry, column),
    "drop": partial(_difference, sign=-1.0),
    "gain": partial(_difference, sign=1.0),
    "smaller": partial(_fact_ratio, formula=lambda ours, theirs: theirs / ours),  # how many times larger the other's is
    "larger": partial(_fact_ratio, formula=lambda ours, theirs: ours / theirs),
    "reduction": partial(_fact_ratio, formula=lambda ours, theirs: PERCENT * (1 - ours / theirs)),
    "setting": _setting,
    "square": partial(_setting, power=2),  # groups of K words make K^2 times fewer attention scores
    "printed": lambda view, entry, column: Cell(),  # the paper alone speaks
}


def data_cell(measured: Measured, task: str, column: Column) -> Cell:
    """A fact of a data set: rows of the split that the column is named after, as the sweep found them."""
    rows = measured.record.get("tasks", {}).get(task, {}).get("rows", {})
    if column.measure != "rows" or column.name not in rows:
        return Cell(unit="count")
    return Cell(value=float(rows[column.name]), unit="count")
