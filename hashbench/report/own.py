"""The experiment's own table: every model by every task, the average over the tasks they share, parameters, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hashbench.report.cells import average_cell, fact_cell, score_cell
from hashbench.report.examples import Examples
from hashbench.report.measured import Measured
from hashbench.report.missing import missing_lines
from hashbench.report.papers import Paper
from hashbench.report.rows import Cell, Column, Row, Table, mark_best
from hashbench.report.runs import Entry

SIZES = (
    Column("total_params", "params", "fact", "params", better="low", subtitle="all"),
    Column("emb_params", "params", "fact", "params", better="low", subtitle="embedding"),
)
TIMES = (
    Column("pt_ms", "ms/sample", "fact", "pre-train", better="low", subtitle="ms/sample"),
    Column("infer_ms", "ms/sample", "fact", "infer", better="low", subtitle="ms/sample"),
)
MINUTES = Column("run_minutes", "minutes", "minutes", "training", subtitle="minutes")


def own_table(measured: Measured, paper: Paper, *, examples: Examples | None = None) -> Table:
    """All models of the experiment, then the floors. `paper` gives the order and the spelling of known tasks."""
    known = [task for task in paper.tasks if task in measured.tasks()]
    tasks = known + [task for task in measured.tasks() if task not in known]
    shared = shared_tasks(measured, tasks)
    columns = _columns(measured, paper, tasks, shared)
    rows = mark_best([_row(measured, entry, columns, examples) for entry in measured.entries], columns)
    notes = [_average_note(tasks, shared)] if len(shared) < len(tasks) else []
    if any(row.cells[MINUTES.name].value is not None for row in rows):
        notes.append("Training minutes: all finished runs of a model, pre-training and evaluations included.")
    return Table(
        paper="",
        number="own",
        title=f"Experiment {measured.experiment.name}",
        experiment=measured.experiment.name,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(notes),
        missing=tuple(missing_lines(rows, [column for column in columns if column.measure == "score"])),
        published=False,
    )


def shared_tasks(measured: Measured, tasks: Sequence[str]) -> list[str]:
    """The tasks on which every model that was fine-tuned has a score: only over these are averages comparable."""
    models = [entry for entry in measured.entries if entry.kind == "model" and entry.runs]
    return [
        task
        for task in tasks
        if models and all(any(score.value is not None for score in measured.own(entry, task)) for entry in models)
    ]


def _average_note(tasks: Sequence[str], shared: Sequence[str]) -> str:
    left_out = ", ".join(task for task in tasks if task not in shared)
    if not shared:
        return "No average: there is no task on which every model has a score."
    return f"Average over the {len(shared)} of {len(tasks)} tasks that all models share; without {left_out}."


def _columns(measured: Measured, paper: Paper, tasks: Sequence[str], shared: Sequence[str]) -> list[Column]:
    """Tasks, average, sizes and times; sizes and times only where one was measured."""
    metrics = {score.run.task: score.metric for scores in measured.scores.values() for score in scores if score.own}
    columns = [
        Column(
            name=task,
            unit="percent",
            measure="score",
            title=paper.titles[task] if task in paper.titles else task,
            task=task,
            better="high",
            subtitle=metrics[task] if task in metrics else "",
        )
        for task in tasks
    ]
    if shared:
        of = f"{len(shared)} tasks" if len(shared) == len(tasks) else f"{len(shared)} of {len(tasks)}"
        average = Column("average", "percent", "average", "Average", better="high", subtitle=of, tasks=tuple(shared))
        columns.append(average)
    known = {name for (_, _, name), fact in measured.facts.items() if fact.value is not None}
    columns.extend(column for column in (*SIZES, *TIMES) if column.name in known)
    return [*columns, MINUTES]


def _row(measured: Measured, entry: Entry, columns: Sequence[Column], examples: Examples | None) -> Row:
    cells = {column.name: _cell(measured, entry, column, examples) for column in columns}
    section = "Floors" if entry.kind == "floor" else "Models"
    return Row(entry.model, entry.model, cells, entry.kind, entry.encoder, section, entry.settings)


def _cell(measured: Measured, entry: Entry, column: Column, examples: Examples | None) -> Cell:
    if column.measure == "score":
        assert column.task is not None
        return score_cell(entry, column.task, measured.own, examples)
    if column.measure == "average":
        return average_cell(entry, column.tasks, measured.own, examples)
    if column.measure == "minutes":
        return _minutes(measured, entry)
    return fact_cell(measured, entry, column)


def _minutes(measured: Measured, entry: Entry) -> Cell:
    """Work of all finished runs of the row; a pre-training counts for each model that uses it."""
    pretrained = [run for run in measured.runs if run.kind == "pretrain" and run.model == entry.model]
    seconds = sum(run.origin.seconds for run in (*entry.runs, *pretrained) if run.state == "done")
    cell = Cell(unit="minutes")
    return replace(cell, value=seconds / 60) if seconds else replace(cell, reason="no finished run")
