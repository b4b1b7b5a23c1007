"""From measurements to cells: centres and spreads over seeds, averages, facts, and why a value is missing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hashbench.common.texts_read import NOTED
from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import PERCENT, Measured, hollow_accuracy
from hashbench.results.read.runs import Entry, SeedScore
from hashbench.results.read.samples import Evidence, ScorePart, Statistic
from hashbench.results.read.texts import share_lost
from hashbench.results.tables.table import BINARY, BYTES, DECIMAL, TRIVIAL, Cell, Row, RowKind, scaled

# Units that depend on the size
SCALES = {"params": DECIMAL, "binary params": BINARY, "bytes": BYTES}
# Of `export --evaluate`: before and after int8, of models and of the bag of words. Bytes of the graph (the bag's words
# and weights) and of the whole folder; times of one text on one thread, from ready inputs (words) and from the text
FORMS = tuple(
    column
    for form in ("float32", "int8")
    for column in (
        Column(f"{form}_bytes", "bytes", "fact", form, better="low", subtitle="bytes"),
        Column(f"{form}_score", "percent", "fact", form, better="high", subtitle="score"),
        Column(f"{form}_latency", "ms/sample", "fact", form, better="low", subtitle="ms a text"),
        Column(f"{form}_folder", "bytes", "fact", form, better="low", subtitle="folder"),
        Column(f"{form}_text_latency", "ms/sample", "fact", form, better="low", subtitle="ms from text"),
    )
)
# The scores of an entry on a task (or column) that a table reads
Reading = Callable[[Entry, str], list[SeedScore]]
IMPORTED = "Imported predictions of other programs, in no claim, budget or group"  # heading of rows
# Of an average: a task (or column), or several that count together as one
AverageMember = str | tuple[str, ...]
CENTRES: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}


def row_kind(entry: Entry) -> RowKind:
    """The kind of an entry's table row: model, trivial baseline, or predictions of another program."""
    return TRIVIAL if entry.is_baseline else "imported" if entry.is_imported else "model"


def entry_row(entry: Entry, cells: dict[str, Cell]) -> Row:
    """The row of an entry in an experiment's own table, with the given cells."""
    section = {TRIVIAL: "Trivial baselines", "imported": IMPORTED}.get(row_kind(entry), "Models")
    return Row(entry.title, entry.title, cells, row_kind(entry), entry.encoder, section, entry.settings)


def score_cell(
    entry: Entry, task: str, read: Reading, evidence: Evidence | None = None, statistic: Statistic = "mean"
) -> Cell:
    """The cell of a score: mean or median over seeds in percent, standard deviation of two or more, number of seeds."""
    scores = read(entry, task)
    values = [PERCENT * score.value for score in scores if score.value is not None]
    runs = entry.of_task(task)
    cell = Cell(n=len(values) or None, planned=len(runs) or None, unit="percent", group=entry.group([task]))
    if not values:
        return replace(cell, reason=_why_no_score(entry, task, scores))
    parts = (ScorePart(1.0, entry, task, scores[0].metric, scores[0].split),)
    cell = replace(cell, value=CENTRES[statistic](values), std=_deviation(values), parts=parts)
    if entry.is_baseline:
        cell = replace(cell, n=None, planned=None)  # nothing random in a trivial baseline
    return _with_interval(cell, evidence if statistic == "mean" else None, entry, [scores])


def average_cell(
    entry: Entry,
    parts: Sequence[AverageMember],
    read: Reading,
    evidence: Evidence | None = None,
    statistic: Statistic = "mean",
) -> Cell:
    """The cell of an average: the unweighted mean of tasks' means (or medians), with the deviation of seeds' averages.

    Over the units that have all of the tasks. Missing where one task is missing: an average over fewer tasks is another
    quantity.
    """
    groups = [(part,) if isinstance(part, str) else part for part in parts]
    scores, of_units = _of_common_units({name: read(entry, name) for group in groups for name in group})
    tasks = {score.run.task or "" for of_task in scores.values() for score in of_task}
    cell = Cell(unit="percent", group=entry.group(sorted(tasks)), of_units=of_units)
    centres: dict[str, float] = {}
    for name, of_task in scores.items():
        values = [score.value for score in of_task if score.value is not None]
        if not values:
            return replace(cell, reason=f"without {name}")
        centres[name] = CENTRES[statistic](values)
    if not centres:
        return replace(cell, reason="no task")
    read_parts = (
        ScorePart(1 / (len(groups) * len(group)), entry, scores[name][0].run.task or "", scores[name][0].metric,
                  scores[name][0].split)
        for group in groups for name in group
    )  # fmt: skip
    cell = replace(cell, value=PERCENT * _mean_of_groups(groups, centres), parts=tuple(read_parts))
    if not entry.is_baseline:
        averages = _seed_averages(groups, scores)
        planned = len({run.seed for run in entry.runs if run.task in tasks})
        cell = replace(cell, std=_deviation(averages), n=len(averages) or None, planned=planned)
    if statistic != "mean" or any(len(group) > 1 for group in groups):
        return cell
    return _with_interval(cell, evidence, entry, list(scores.values()))


def _of_common_units(scores: Mapping[str, list[SeedScore]]) -> tuple[dict[str, list[SeedScore]], str]:
    """(the scores of those units, pre-trainings or seeds, that all tasks have; '2 of 4' where some have more, or '').

    All scores where no unit has every task: the average is then of other units on each.
    """
    units = [{score.run.unit for score in of_task if score.value is not None} for of_task in scores.values()]
    common, every = set.intersection(*units) if units else set(), set().union(*units)
    if not common or common == every:
        return dict(scores), ""
    kept = {name: [of for of in of_task if of.run.unit in common] for name, of_task in scores.items()}
    return kept, f"{len(common)} of {len(every)}"


def _with_interval(cell: Cell, evidence: Evidence | None, entry: Entry, by_task: Sequence[Sequence[SeedScore]]) -> Cell:
    """The cell with the interval over examples of its mean, where predictions are stored."""
    interval = evidence.interval(entry, by_task) if evidence else None
    if interval is None:
        runs = (score.run for scores in by_task for score in scores)
        return replace(cell, unread=bool(evidence and any(map(evidence.measured.without_outputs, runs))))
    low, high, n = interval
    undefined = PERCENT * evidence.undefined(entry, by_task) if evidence else 0.0
    return replace(cell, interval=(PERCENT * low, PERCENT * high), n_examples=n, undefined=undefined)


def _mean_of_groups(groups: Sequence[Sequence[str]], values: Mapping[str, float]) -> float:
    """The mean over groups of the mean of their tasks: matched and mismatched MNLI are one group.

    >>> _mean_of_groups([("rte",), ("mnli_m", "mnli_mm")], {"rte": 60.0, "mnli_m": 80.0, "mnli_mm": 90.0})
    72.5
    """
    return statistics.fmean(statistics.fmean(values[name] for name in group) for group in groups)


def _seed_averages(groups: Sequence[Sequence[str]], scores: Mapping[str, Sequence[SeedScore]]) -> list[float]:
    """The average over tasks in percent of every seed that has all of them."""
    by_seed: dict[int | None, dict[str, float]] = {}
    for name, of_task in scores.items():
        for score in of_task:
            if score.value is not None:
                by_seed.setdefault(score.run.seed, {})[name] = score.value
    return [PERCENT * _mean_of_groups(groups, values) for values in by_seed.values() if len(values) == len(scores)]


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _why_no_score(entry: Entry, task: str, scores: Sequence[SeedScore]) -> str:
    """The reason that a cell has no score."""
    if scores:
        return f"undefined: {scores[0].reason}"
    runs = entry.of_task(task)
    if not runs:
        return "no run of it on this task is planned"
    for run in runs:
        if run.state == "failed":
            return f"failed: {run.reason}" if run.reason else "failed"
    state = next((run.state for run in runs if run.state != "done"), "")
    return f"{state}, not finished" if state else "metric not stored"


def measured_columns(measured: Measured, columns: Sequence[Column]) -> list[Column]:
    """Those of some columns of facts that any row has a value for."""
    having = {name for (_, _, name), fact in measured.facts.items() if fact.value is not None}
    return [column for column in columns if column.name in having]


def fact_cell(measured: Measured, entry: Entry, column: Column) -> Cell:
    """The cell of a fact of a model, such as parameters, bytes, shares or times."""
    fact = measured.fact(entry, column.fact or column.name)
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


StoredReading = tuple[str, str, str]  # task, metric, split


def flagged(measured: Measured, entry: Entry, cell: Cell, readings: Sequence[StoredReading]) -> Cell:
    """The cell with flags for constant predictions, a meaningless F1, or texts that were not read whole.

    `readings`: the scores that it is made from.
    """
    if cell.value is None or entry.is_baseline:
        return cell
    of_tasks = {task: share_lost(entry.of_task(task), split) for task, _, split in readings}
    counted = {task: lost for task, lost in of_tasks.items() if lost is not None}  # the provenance names the others
    most = max(counted, key=lambda task: counted[task], default="")
    if most and counted[most] > NOTED:
        cell = replace(cell, lost=counted[most], lost_on=most if len(readings) > 1 else "")
    if len(readings) == 1:
        runs = [run for task, _, _ in readings for run in entry.of_task(task)]
        return replace(cell, constant=any(run.run_id in measured.constant_runs for run in runs))
    hollow = [task for task, metric, split in readings if hollow_accuracy(measured, entry, task, metric, split)]
    return replace(cell, hollow_f1=bool(hollow))
