"""Scores by script: the mean over the languages that are written in it, beside the mean over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Column
from hashbench.results.tables.experiment import OF_MINUTES, SIZES, own_table
from hashbench.results.tables.measures import View
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import Table, marked, missing_lines

OF_SCRIPTS = "A column is the unweighted mean of the languages that are written in a script, the last one that of all."


def script_table(source: ReportSource) -> list[Table]:
    """The table of mean scores by script (Latin, Devanagari, ...). Raises InputError where no task is of a language."""
    measured = source.measured
    own = own_table(measured, source.paper, evidence=source.evidence)
    traits = measured.traits()
    languages = {task: traits[task]["language"] for task in measured.tasks() if "script" in traits[task]}
    by_script: dict[str, list[str]] = {}
    for task in languages:
        by_script.setdefault(traits[task]["script"], []).append(task)
    if not by_script:
        name = measured.experiment.name
        raise InputError(f"table scripts: '{name}' has no task of a language, such as sib200:hin_Deva; choose another")
    shown = {column.name for column in own.columns}
    columns = [
        *(_average(f"script_{script}", script, tasks, languages) for script, tasks in by_script.items()),
        _average("average", "Average", list(languages), languages),
        *(column for column in SIZES if column.name in shown),
    ]
    tasks = [column for column in own.columns if column.measure == "score"]
    view = View(measured=measured, columns={column.name: column for column in tasks}, evidence=source.evidence)
    rows = [
        replace(row, cells={**row.cells, **view.cells(entry, columns)})
        for row, entry in zip(own.rows, measured.entries, strict=False)  # behind them are imported rows
    ]
    rows = marked(rows, [*columns, *tasks])
    return [
        replace(
            own, number="scripts", title=f"Experiment {own.experiment}: scripts", columns=tuple(columns),
            rows=tuple(rows), notes=(*(note for note in own.notes if not note.startswith(OF_MINUTES)), OF_SCRIPTS),
            missing=tuple(missing_lines(rows, [column for column in columns if column.measure == "average"])),
        )
    ]  # fmt: skip


def _average(name: str, title: str, tasks: Sequence[str], languages: Mapping[str, str]) -> Column:
    """The column of a mean over tasks, with the number of languages, or the only one's name, as its subtitle."""
    shown = languages[tasks[0]] if len(tasks) == 1 else f"{len(tasks)} languages"
    return Column(name, "percent", "average", title, better="high", subtitle=shown, tasks=tuple(tasks))


TABLE = TableFile(
    "scripts",
    "models by script: the mean over the languages that are written in it",
    script_table,
)
