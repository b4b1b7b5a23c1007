"""The measures of a table's columns, one function each: the cell that a model has in a column of that measure.

A score is a centre over seeds with its spread, an average one over tasks; facts are sizes and times; ratios and
differences compare two models.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from hashbench.common.measured import NOTED_LOSS
from hashbench.results.papers.paper import Column, Layout, Paper
from hashbench.results.read.doubts import share_lost
from hashbench.results.read.evidence import Evidence, ScorePart, Statistic
from hashbench.results.read.measured import AVERAGE, PERCENT, Measured, hollow_accuracy
from hashbench.results.read.runs import Entry, SeedScore
from hashbench.results.tables.table import BINARY, BYTES, DECIMAL, TRIVIAL, Cell, Row, RowKind, scaled

# Units that depend on the size
SCALES = {"params": DECIMAL, "binary params": BINARY, "bytes": BYTES}
IMPORTED = "Imported predictions of other programs, in no claim, budget or group"  # heading of rows
CENTRES: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}
StoredReading = tuple[str, str, str]  # task, metric, split


@dataclass(frozen=True, kw_only=True)
class View:
    """The columns of a table with what their cells are made from. `paper` and `layout`: of a paper's table."""

    measured: Measured
    columns: Mapping[str, Column]  # by name, also hidden ones that averages are over
    evidence: Evidence | None = None  # intervals over examples
    paper: Paper | None = None
    layout: Layout | None = None

    def cell(self, entry: Entry, column: Column) -> Cell:
        """The measured cell of an entry in a column, with flags for scores of little meaning."""
        return self._flagged(entry, self.measure(entry, column), self.readings(column))

    def measure(self, entry: Entry, column: Column) -> Cell:
        """The measured cell of an entry in a column, without flags."""
        return MEASURES[column.measure](self, entry, column)

    def cells(self, entry: Entry, columns: Sequence[Column]) -> dict[str, Cell]:
        """The cells of an entry by column."""
        return {column.name: self.cell(entry, column) for column in columns}

    def read(self, entry: Entry, column: Column) -> list[SeedScore]:
        """The scores that a column reads, one a finished run; without a metric the reported scores."""
        if column.metric or self.paper is not None:
            return self.measured.read(entry, column.task or "", column.metric, column.split)
        return self.measured.own(entry, column.task or "")

    def members(self, column: Column) -> list[list[Column]]:
        """The columns that an average is over; columns that count as one are in one list."""
        groups = [(part,) if isinstance(part, str) else part for part in column.tasks]
        return [[self._member(name) for name in group] for group in groups]

    def _member(self, name: str) -> Column:
        """The column of scores that an average names: in a paper's table by its name, else by its task."""
        scores = (column for column in self.columns.values() if column.measure == "score")
        return next(column for column in scores if name == (column.name if self.paper else column.task))

    def readings(self, column: Column) -> list[StoredReading]:
        """(task, metric, split) of the scores that a cell of a column is computed from."""
        if column.measure in ("prr", "prr_average"):
            by_task = self.measured.readings(self.paper.name if self.paper else "")
            return [(task, *by_task[task]) for task in ([column.task] if column.task else by_task) if task in by_task]
        read = [column] if column.measure == "score" else []
        read += [member for group in self.members(column) for member in group] if column.measure == "average" else []
        return [(score.task, score.metric, score.split) for score in read if score.task]

    @property
    def statistic(self) -> Statistic:
        """The centre over seeds."""
        return "mean" if self.paper is None else self.paper.statistic

    @cached_property
    def ratios(self) -> dict[tuple[str, str, str], tuple[float | None, int]]:
        """PRR and number of tasks by (model, encoder, task or 'average')."""
        return self.measured.ratios(self.paper.name if self.paper else "")

    def partner(self, entry: Entry, column: Column) -> tuple[Entry | None, str]:
        """The model that a column compares an entry with, or None and why ('' where no comparison is meant)."""
        pairs = self.layout.pairs if self.layout else {}
        name = pairs.get(entry.model, "") if column.against == "pair" else column.against
        if not name or name == entry.model or entry.is_baseline:
            return None, ""
        other = self.measured.find_entry(name)
        return other, "" if other else f"no {name} to compare with"

    def _flagged(self, entry: Entry, cell: Cell, readings: Sequence[StoredReading]) -> Cell:
        """The cell with flags for constant predictions, a meaningless F1, or texts that were not read whole."""
        if cell.value is None or entry.is_baseline:
            return cell
        of_tasks = {task: share_lost(entry.of_task(task), split) for task, _, split in readings}
        counted = {task: lost for task, lost in of_tasks.items() if lost is not None}  # the provenance names the others
        most = max(counted, key=lambda task: counted[task], default="")
        if most and counted[most] > NOTED_LOSS:
            cell = replace(cell, lost=counted[most], lost_on=most if len(readings) > 1 else "")
        if len(readings) == 1:
            runs = entry.of_task(readings[0][0])
            return replace(cell, constant=any(run.run_id in self.measured.constant_runs for run in runs))
        return replace(cell, hollow_f1=any(hollow_accuracy(self.measured, entry, *reading) for reading in readings))


def row_kind(entry: Entry) -> RowKind:
    """The kind of an entry's table row: model, trivial baseline, or predictions of another program."""
    return TRIVIAL if entry.is_baseline else "imported" if entry.is_imported else "model"


def entry_row(entry: Entry, cells: dict[str, Cell]) -> Row:
    """The row of an entry in an experiment's own table, with the given cells."""
    section = {TRIVIAL: "Trivial baselines", "imported": IMPORTED}.get(row_kind(entry), "Models")
    section += f" on {entry.train_rows:,} rows of train" if entry.train_rows is not None else ""
    return Row(entry.title, entry.title, cells, row_kind(entry), entry.encoder, section, entry.settings)


def measured_columns(measured: Measured, columns: Sequence[Column]) -> list[Column]:
    """The columns of facts in which some row has a value."""
    having = {name for (_, _, name), fact in measured.facts.items() if fact.value is not None}
    return [column for column in columns if column.name in having]


def _score(view: View, entry: Entry, column: Column) -> Cell:
    """Mean or median over seeds in percent, standard deviation of two or more, number of seeds."""
    if not column.task:  # a table over all tasks that have the metric, and the experiment has none
        return Cell(reason=f"no task with {column.metric}")
    scores, runs = view.read(entry, column), entry.of_task(column.task)
    values = [PERCENT * score.value for score in scores if score.value is not None]
    cell = Cell(n=len(values) or None, planned=len(runs) or None, unit="percent", group=entry.group([column.task]))
    if not values:
        return replace(cell, reason=_why_no_score(view, entry, column.task, scores))
    parts = (ScorePart(1.0, entry, column.task, scores[0].metric, scores[0].split),)
    cell = replace(cell, value=CENTRES[view.statistic](values), std=_deviation(values), parts=parts)
    if entry.is_baseline:
        cell = replace(cell, bytes=view.measured.bytes_of(entry, column.task))
    if entry.is_fixed:
        cell = replace(cell, n=None, planned=None)
    return _with_interval(view, cell, entry, [scores])


def _why_no_score(view: View, entry: Entry, task: str, scores: Sequence[SeedScore]) -> str:
    if scores:
        return f"undefined: {scores[0].reason}"
    runs = entry.of_task(task)
    if not runs and view.paper is None and task in view.measured.further_sets():
        remedy = f"hashbench evaluate MODEL --on FILE --name {task}"
        return "no such baseline of the set" if entry.is_baseline else f"not evaluated on the set ({remedy})"
    if not runs:
        return "no run of it on this task is planned"
    for run in runs:
        if run.state == "failed":
            return f"failed: {run.reason}" if run.reason else "failed"
    state = next((run.state for run in runs if run.state != "done"), "")
    return f"{state}, not finished" if state else "metric not stored"


def _average(view: View, entry: Entry, column: Column) -> Cell:
    """The unweighted mean of tasks' means (or medians), with the deviation of seeds' averages.

    Over the units that have all of the tasks. Missing where one task is missing: an average over fewer tasks is another
    quantity.
    """
    groups = view.members(column)
    read = {member.name: view.read(entry, member) for group in groups for member in group}
    scores, of_units = _of_common_units(read)
    tasks = {score.run.task or "" for of_task in scores.values() for score in of_task}
    cell = Cell(unit="percent", group=entry.group(sorted(tasks)), of_units=of_units)
    centres: dict[str, float] = {}
    for group in groups:
        for member in group:
            values = [score.value for score in scores[member.name] if score.value is not None]
            if not values:
                return replace(cell, reason=f"without {member.task if view.paper is None else member.name}")
            centres[member.name] = CENTRES[view.statistic](values)
    if not centres:
        return replace(cell, reason="no task")
    names = [[member.name for member in group] for group in groups]
    firsts = {name: of_task[0] for name, of_task in scores.items()}
    parts = (
        ScorePart(1 / (len(names) * len(of)), entry, first.run.task or "", first.metric, first.split)
        for of in names
        for first in (firsts[name] for name in of)
    )
    cell = replace(cell, value=PERCENT * mean_of_groups(names, centres), parts=tuple(parts))
    if not entry.is_fixed:
        averages = _seed_averages(names, scores)
        planned = len({run.seed for run in entry.runs if run.task in tasks})
        cell = replace(cell, std=_deviation(averages), n=len(averages) or None, planned=planned)
    is_plain = all(len(group) == 1 for group in groups)
    return _with_interval(view, cell, entry, list(scores.values())) if is_plain else cell


def _of_common_units(scores: Mapping[str, list[SeedScore]]) -> tuple[dict[str, list[SeedScore]], str]:
    """(scores of the units, pre-trainings or seeds, that all tasks have; '2 of 4' where some tasks have more, or '').

    All scores where no unit has every task: the average then mixes different units.
    """
    units = [{score.run.unit for score in of_task if score.value is not None} for of_task in scores.values()]
    common, every = set.intersection(*units) if units else set(), set().union(*units)
    if not common or common == every:
        return dict(scores), ""
    kept = {name: [of for of in of_task if of.run.unit in common] for name, of_task in scores.items()}
    return kept, f"{len(common)} of {len(every)}"


def _with_interval(view: View, cell: Cell, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> Cell:
    """The cell with the interval over examples of its mean, where predictions are stored."""
    evidence = view.evidence if view.statistic == "mean" else None
    interval = evidence.interval(entry, by_task) if evidence else None
    if evidence is None or interval is None:
        runs = (score.run for scores in by_task for score in scores)
        return replace(cell, unread=bool(evidence and any(map(evidence.measured.without_outputs, runs))))
    low, high, n = interval
    undefined = PERCENT * evidence.undefined(entry, by_task)
    return replace(cell, interval=(PERCENT * low, PERCENT * high), n_examples=n, undefined=undefined)


def mean_of_groups(groups: Sequence[Sequence[str]], values: Mapping[str, float]) -> float:
    """The mean over groups of the mean of their tasks: matched and mismatched MNLI are one group.

    >>> mean_of_groups([("rte",), ("mnli_m", "mnli_mm")], {"rte": 60.0, "mnli_m": 80.0, "mnli_mm": 90.0})
    72.5
    """
    return statistics.fmean(statistics.fmean(values[name] for name in group) for group in groups)


def _seed_averages(groups: Sequence[Sequence[str]], scores: Mapping[str, Sequence[SeedScore]]) -> list[float]:
    """The average over tasks in percent, for every seed that has all tasks."""
    by_seed: dict[int | None, dict[str, float]] = {}
    for name, of_task in scores.items():
        for score in of_task:
            if score.value is not None:
                by_seed.setdefault(score.run.seed, {})[name] = score.value
    return [PERCENT * mean_of_groups(groups, values) for values in by_seed.values() if len(values) == len(scores)]


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _fact(view: View, entry: Entry, column: Column) -> Cell:
    """A fact of a model, such as parameters, bytes, shares or times."""
    fact = view.measured.fact(entry, column.fact or column.name)
    if fact is None or fact.value is None:
        # A trivial baseline is not counted
        return Cell(group=entry.encoder, reason="" if entry.is_baseline else "not measured")
    if column.unit in SCALES:
        value, unit = scaled(column.factor * fact.value, SCALES[column.unit])
        return Cell(value, unit=unit, group=entry.encoder)
    factor = column.factor * (PERCENT if column.unit == "percent" else 1.0)
    high = None if fact.value_high is None else factor * fact.value_high
    interval = None if fact.interval is None else (factor * fact.interval[0], factor * fact.interval[1])
    return Cell(factor * fact.value, high, unit=column.unit, group=entry.encoder, interval=interval)


def _minutes(view: View, entry: Entry, column: Column) -> Cell:
    """The minutes of all finished runs of a row; a pre-training counts for each model that uses it."""
    of_row = (entry.model, entry.encoder)
    pretrained = [run for run in view.measured.pretrainings() if (run.model, run.encoder) == of_row]
    own = () if entry.is_imported else entry.runs  # nothing was trained here
    seconds = sum(run.origin.seconds for run in (*own, *pretrained) if run.state == "done")
    return Cell(seconds / 60, unit="minutes") if seconds else Cell(unit="minutes", reason="no finished run")


def _of_held_out_rows(view: View, entry: Entry, column: Column) -> Cell:
    """A metric of a model's pre-trainings on held-out rows of their corpus: mean over seeds, standard deviation."""
    factor = PERCENT if column.unit == "percent" else 1.0
    of_row = (entry.model, entry.encoder)
    values = [factor * value for value in view.measured.of_held_out_rows(column.metric).get(of_row, ())]
    if not values:
        return Cell(unit=column.unit, reason="not measured")
    return Cell(CENTRES[view.statistic](values), std=_deviation(values), n=len(values), unit=column.unit)


def _difference(view: View, entry: Entry, column: Column, *, sign: float) -> Cell:
    """The model's value in another column minus its partner's, times `sign`, in points."""
    other, reason = view.partner(entry, column)
    if other is None or view.layout is None:
        return Cell(reason=reason)
    name = view.layout.of.get(entry.model, column.of)
    cell, compared = (view.cell(of, view.columns[name]) for of in (entry, other))
    if cell.value is None or compared.value is None:
        return Cell(reason=f"no {name} of both models")
    if not entry.shares_data(other):
        return Cell(reason="measured on other data than the model it is compared with")
    return Cell(value=sign * (cell.value - compared.value), unit="points", group=column.against)


def _fact_ratio(view: View, entry: Entry, column: Column, *, formula: Callable[[float, float], float]) -> Cell:
    other, reason = view.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    fact, compared = (view.measured.fact(of, column.fact) for of in (entry, other))
    if fact is None or compared is None or not fact.value or not compared.value:
        return Cell(reason=f"no {column.fact} of both models")
    return Cell(value=formula(fact.value, compared.value), unit=column.unit, group=column.against)


def _setting(view: View, entry: Entry, column: Column, *, power: int = 1) -> Cell:
    """The number at the column's path in the spec of the model's runs, to the given power."""
    runs = entry.runs or tuple(run for run in view.measured.runs if run.model == entry.model)
    value = value_at(runs[0].spec, column.path) if runs and not entry.is_baseline else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell()  # a size's own value, or a model without it
    return Cell(value=float(value) ** power, unit=column.unit)


def value_at(spec: Any, path: str) -> Any:
    """A value of nested mappings; None where there is none.

    >>> value_at({"model": {"coder": {"alpha": 5}}}, "model.coder.alpha"), value_at({"model": None}, "model.coder")
    (5, None)
    """
    for key in path.split("."):
        spec = spec.get(key) if isinstance(spec, dict) else None
    return spec


def _ratio(view: View, entry: Entry, column: Column) -> Cell:
    """PRR in percent, from the database view `prr`, for a task or the average of all tasks of the paper."""
    task, measured, tasks = column.task or AVERAGE, view.measured, view.paper.tasks if view.paper else ()
    cell = Cell(unit="percent", group=entry.group([column.task] if column.task else tasks))
    if not (measured.has_one_entry(entry.model) and measured.has_one_entry(measured.experiment.baseline)):
        return replace(cell, reason="settings differ between runs of one model, or no baseline")
    if (entry.model, entry.encoder, task) not in view.ratios:
        return replace(cell, reason="no score of the model or of the baseline")
    ratio, n_tasks = view.ratios[entry.model, entry.encoder, task]
    if ratio is None:
        return replace(cell, reason="no ratio: a score is missing or the baseline's is not above 0")
    if task == AVERAGE and n_tasks < len(tasks):
        return replace(cell, reason=f"only {n_tasks} of {len(tasks)} tasks")
    return replace(cell, value=PERCENT * ratio, parts=_parts_of_ratio(view, entry, column))


def _parts_of_ratio(view: View, entry: Entry, column: Column) -> tuple[ScorePart, ...]:
    """The scores that PRR is a weighted sum of, the baseline's taken as known; () where that is not so."""
    baseline, readings = view.measured.find_entry(view.measured.experiment.baseline), view.readings(column)
    scores = [view.measured.read(baseline, *reading) if baseline else [] for reading in readings]
    values = [[score.value for score in of_task if score.value is not None] for of_task in scores]
    total = sum(statistics.fmean(of_task) for of_task in values if of_task)
    if not all(values) or total <= 0:
        return ()
    return tuple(ScorePart(1 / total, entry, *reading) for reading in readings)  # an average is the ratio of averages


MEASURES: Mapping[str, Callable[[View, Entry, Column], Cell]] = {
    "score": _score,
    "average": _average,
    "prr": _ratio,
    "prr_average": _ratio,
    "fact": _fact,
    "minutes": _minutes,
    "held-out rows": _of_held_out_rows,
    "drop": partial(_difference, sign=-1.0),
    "gain": partial(_difference, sign=1.0),
    "smaller": partial(_fact_ratio, formula=lambda value, other: other / value),  # how many times larger the other's is
    "larger": partial(_fact_ratio, formula=lambda value, other: value / other),
    "reduction": partial(_fact_ratio, formula=lambda value, other: PERCENT * (1 - value / other)),
    "setting": _setting,
    "square": partial(_setting, power=2),  # groups of K words make K^2 times fewer attention scores
    "printed": lambda view, entry, column: Cell(),  # the paper alone speaks
}
