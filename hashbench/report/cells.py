"""From measurements to cells: means and spreads over seeds, averages over tasks, facts, and why a value is missing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hashbench.report.examples import Examples
from hashbench.report.measured import Entry, Measured, Ratio, Seeded
from hashbench.report.papers import Paper
from hashbench.report.rows import Cell, Column, scaled

PERCENT = 100.0  # scores are stored in their natural range
Ratios = Mapping[tuple[str, str, str], Ratio]  # by (model, encoder, task)
Reading = Callable[[Entry, str], list[Seeded]]  # the scores of an entry on a task that a table reads


def score_cell(entry: Entry, task: str, read: Reading, examples: Examples | None = None) -> Cell:
    """Mean over seeds in percent, standard deviation (n - 1) where there are two or more, number of seeds."""
    scores = read(entry, task)
    values = [PERCENT * score.value for score in scores if score.value is not None]
    runs = entry.of_task(task)
    cell = Cell(n=len(values) or None, planned=len(runs) or None, unit="percent", group=entry.group([task]))
    if not values:
        return replace(cell, reason=_why_no_score(entry, task, scores))
    cell = replace(cell, value=statistics.fmean(values), std=_deviation(values))
    if entry.kind == "floor":
        cell = replace(cell, n=None, planned=None)  # nothing random in a floor
    interval = examples.interval([score for score in scores if score.value is not None]) if examples else None
    if interval is None:
        return cell
    return replace(cell, interval=(PERCENT * interval.low, PERCENT * interval.high), n_examples=interval.n)


def average_cell(entry: Entry, tasks: Sequence[str], read: Reading, examples: Examples | None = None) -> Cell:
    """The unweighted mean of the tasks' means; its deviation is that of the averages of single seeds.

    Missing where one task is missing: an average over fewer tasks is another quantity.
    """
    by_task = {task: {score.run.seed: score.value for score in read(entry, task)} for task in tasks}
    cell = Cell(unit="percent", group=entry.group(tasks))
    means = []
    for task, by_seed in by_task.items():
        values = [value for value in by_seed.values() if value is not None]
        if not values:
            return replace(cell, reason=f"without {task}")
        means.append(statistics.fmean(values))
    if not means:
        return replace(cell, reason="no task")
    cell = replace(cell, value=PERCENT * statistics.fmean(means))
    if entry.kind == "model":
        averages = _seed_averages(by_task)
        planned = len({run.seed for run in entry.runs if run.task in tasks})
        cell = replace(cell, std=_deviation(averages), n=len(averages) or None, planned=planned)
    interval = examples.average_interval([read(entry, task) for task in tasks]) if examples else None
    if interval is None:
        return cell
    return replace(cell, interval=(PERCENT * interval.low, PERCENT * interval.high), n_examples=interval.n)


def _seed_averages(by_task: dict[str, dict[int | None, float | None]]) -> list[float]:
    """The average over tasks in percent of every seed that has all of them."""
    seeds = list(dict.fromkeys(seed for by_seed in by_task.values() for seed in by_seed))
    averages = []
    for seed in seeds:
        values = [by_seed[seed] if seed in by_seed else None for by_seed in by_task.values()]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            averages.append(PERCENT * statistics.fmean(known))
    return averages


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _why_no_score(entry: Entry, task: str, scores: Sequence[Seeded]) -> str:
    """One reason that stands for all runs of a cell without a value."""
    if scores:
        return f"undefined: {scores[0].reason}"
    runs = entry.of_task(task)
    if not runs:
        return "task not in this experiment"
    for run in runs:
        if run.state == "failed":
            return f"failed: {run.reason}" if run.reason else "failed"
    return "metric not stored" if all(run.state == "done" for run in runs) else f"{runs[0].state}, not finished"


def ratio_cell(measured: Measured, entry: Entry, task: str, paper: Paper, ratios: Ratios) -> Cell:
    """PRR in percent as the store forms it, for a task or the 'average' of all tasks of the paper."""
    cell = Cell(unit="percent", group=entry.group(paper.tasks if task == "average" else [task]))
    if not (measured.has_one_entry(entry.model) and measured.has_one_entry(measured.experiment.baseline)):
        return replace(cell, reason="settings differ between runs of one model, or no baseline")
    key = (entry.model, entry.encoder, task)
    if key not in ratios:
        return replace(cell, reason="no score of the model or of the baseline")
    ratio = ratios[key]
    if ratio.value is None:
        return replace(cell, reason="no ratio: a score is missing or the baseline's is not above 0")
    if task == "average" and ratio.n_tasks < len(paper.tasks):
        return replace(cell, reason=f"only {ratio.n_tasks} of {len(paper.tasks)} tasks")
    return replace(cell, value=PERCENT * ratio.value)


def fact_cell(measured: Measured, entry: Entry, column: Column) -> Cell:
    """Parameters, shares or times as the store's views give them."""
    key = (entry.model, entry.encoder, column.name)
    cell = Cell(group=entry.encoder)
    if key not in measured.facts or measured.facts[key].value is None:
        return replace(cell, reason="not measured")
    fact = measured.facts[key]
    assert fact.value is not None
    if column.unit == "params":
        value, unit = scaled(fact.value)
        return replace(cell, value=value, unit=unit)
    factor = PERCENT if column.unit == "percent" else 1.0
    high = None if fact.value_high is None else factor * fact.value_high
    return replace(cell, value=factor * fact.value, value_high=high, unit=column.unit)
