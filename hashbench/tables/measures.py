"""What a column of a paper's table may ask for, and how a cell is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hashbench.papers.column import Column
from hashbench.papers.paper import Layout, Paper
from hashbench.results.entries import Entry
from hashbench.results.measured import PERCENT, Measured
from hashbench.results.runs import SeedScore
from hashbench.results.samples import Evidence
from hashbench.tables.cells import Ratios, average_cell, fact_cell, ratio_cell, score_cell
from hashbench.tables.table import Cell


@dataclass(frozen=True)
class CellMaker:
    """What the cells of a paper's table are made from."""

    measured: Measured
    paper: Paper
    columns: Mapping[str, Column]  # by name, each score with the metric and split that are read
    layout: Layout
    ratios: Ratios
    evidence: Evidence | None

    def read(self, entry: Entry, name: str) -> list[SeedScore]:
        """The scores that a column reads, one a finished run."""
        column = self.columns[name]
        return self.measured.read(entry, column.task or "", column.metric, column.split)

    def cell(self, entry: Entry, column: Column) -> Cell:
        """The cell of a row and a column."""
        return MEASURES[column.measure](self, entry, column)

    def partner(self, entry: Entry, column: Column) -> tuple[Entry | None, str]:
        """The other model of a comparison, or why there is none ('' where none is meant)."""
        name = column.against
        if name == "pair":
            name = self.layout.pairs[entry.model] if entry.model in self.layout.pairs else ""
        if not name or name == entry.model or entry.kind != "model":
            return None, ""
        other = self.measured.find_entry(name)
        return other, "" if other else f"no {name} to compare with"


def _score(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    if not column.task:  # a table over all tasks that have the metric, and the experiment has none
        return Cell(reason=f"no task with {column.metric}")
    return score_cell(
        entry, column.task, lambda one, _: maker.read(one, column.name), maker.evidence, maker.paper.statistic
    )


def _average(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    return average_cell(entry, column.tasks, maker.read, maker.evidence, maker.paper.statistic)


def _ratio(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    return ratio_cell(maker.measured, entry, column.task or "average", maker.paper, maker.ratios)


def _fact(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    return fact_cell(maker.measured, entry, column)


def _drop(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """The other model's value of another column minus this one's, in points."""
    return _difference(maker, entry, column, sign=-1.0)


def _gain(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """This model's value of another column minus the other's, in points."""
    return _difference(maker, entry, column, sign=1.0)


def _difference(maker: CellMaker, entry: Entry, column: Column, *, sign: float) -> Cell:
    other, reason = maker.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    name = maker.layout.of[entry.model] if entry.model in maker.layout.of else column.of
    ours, theirs = (maker.cell(one, maker.columns[name]) for one in (entry, other))
    if ours.value is None or theirs.value is None:
        return Cell(reason=f"no {name} of both models")
    if not entry.shares_data(other):
        return Cell(reason="measured on other data than the model it is compared with")
    return Cell(value=sign * (ours.value - theirs.value), unit="points", group=column.against)


def _smaller(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """How many times larger the other model's fact is."""
    return _fact_ratio(maker, entry, column, lambda ours, theirs: theirs / ours)


def _larger(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """How many times larger this model's fact is."""
    return _fact_ratio(maker, entry, column, lambda ours, theirs: ours / theirs)


def _reduction(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """1 - fact / the other model's fact, in percent."""
    return _fact_ratio(maker, entry, column, lambda ours, theirs: PERCENT * (1 - ours / theirs))


def _fact_ratio(maker: CellMaker, entry: Entry, column: Column, formula: Callable[[float, float], float]) -> Cell:
    other, reason = maker.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    ours, theirs = (maker.measured.fact(one, column.fact) for one in (entry, other))
    if ours is None or theirs is None or not ours.value or not theirs.value:
        return Cell(reason=f"no {column.fact} of both models")
    return Cell(value=formula(ours.value, theirs.value), unit=column.unit, group=column.against)


def _setting(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """A number that was asked for, where it stands in the spec of the model's runs."""
    runs = entry.runs or tuple(run for run in maker.measured.runs if run.model == entry.model)
    value = _at(runs[0].spec, column.path) if runs and entry.kind == "model" else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(reason="")  # a size's own value, or a model without it
    return Cell(value=float(value), unit=column.unit)


def _square(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """The square of a setting: groups of K words make K^2 times fewer attention scores."""
    cell = _setting(maker, entry, column)
    return cell if cell.value is None else replace(cell, value=cell.value**2)


def _at(spec: Any, path: str) -> Any:
    """A value of nested mappings; None where there is none.

    >>> _at({"model": {"coder": {"alpha": 5}}}, "model.coder.alpha"), _at({"model": None}, "model.coder")
    (5, None)
    """
    for key in path.split("."):
        if not isinstance(spec, dict) or key not in spec:
            return None
        spec = spec[key]
    return spec


def _printed(maker: CellMaker, entry: Entry, column: Column) -> Cell:
    """Nothing: the paper alone speaks."""
    return Cell(reason="")


MEASURES: dict[str, Callable[[CellMaker, Entry, Column], Cell]] = {
    "score": _score,
    "average": _average,
    "prr": _ratio,
    "prr_average": _ratio,
    "fact": _fact,
    "drop": _drop,
    "gain": _gain,
    "smaller": _smaller,
    "larger": _larger,
    "reduction": _reduction,
    "setting": _setting,
    "square": _square,
    "printed": _printed,
}


def data_cell(measured: Measured, task: str, column: Column) -> Cell:
    """A fact of a data set: rows of the split that the column is named after, as the sweep found them."""
    tasks = measured.record["tasks"] if "tasks" in measured.record else {}
    rows = tasks[task]["rows"] if task in tasks and "rows" in tasks[task] else {}
    if column.measure != "rows" or column.name not in rows:
        return Cell(unit="count")
    return Cell(value=float(rows[column.name]), unit="count")
