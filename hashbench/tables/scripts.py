"""Scores by script: the mean over the languages that are written in it, beside the mean over all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hashbench.errors import InputError
from hashbench.papers.column import Column
from hashbench.results.runs import BASELINE
from hashbench.tables.cells import entry_row
from hashbench.tables.experiment import OF_MINUTES, SIZES, own_cell, own_table
from hashbench.tables.legend import missing_lines
from hashbench.tables.request import ReportSource, TableFile
from hashbench.tables.signs import mark_under
from hashbench.tables.table import Table, mark_best

LANGUAGE = re.compile(r":([a-z]{3})_([A-Z][a-z]{3})$")  # ISO 639-3 and ISO 15924, as in sib200:hin_Deva
NAMES = {
    "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Cyrl": "Cyrillic", "Deva": "Devanagari",
    "Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul",
    "Hans": "Han, simplified", "Hant": "Han, traditional", "Hebr": "Hebrew", "Jpan": "Japanese", "Khmr": "Khmer",
    "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin", "Mlym": "Malayalam", "Mymr": "Myanmar", "Orya": "Odia",
    "Sinh": "Sinhala", "Taml": "Tamil", "Telu": "Telugu", "Tibt": "Tibetan",
}  # fmt: skip
OF_SCRIPTS = "A column is the unweighted mean of the languages that are written in a script, the last one that of all."


def by_script(tasks: Sequence[str]) -> dict[str, list[str]]:
    """The tasks of languages by their script.

    >>> by_script(["sib200:eng_Latn", "sib200:hin_Deva", "sib200:fin_Latn", "sst2"])
    {'Latn': ['sib200:eng_Latn', 'sib200:fin_Latn'], 'Deva': ['sib200:hin_Deva']}
    """
    found: dict[str, list[str]] = {}
    for task in tasks:
        if language := LANGUAGE.search(task):
            found.setdefault(language[2], []).append(task)
    return found


def script_table(source: ReportSource) -> list[Table]:
    """The experiment's models and trivial baselines by script. Raises InputError where no task is of a language."""
    measured = source.measured
    own = own_table(measured, source.paper, evidence=source.evidence)
    scripts = by_script([str(column.task) for column in own.columns if column.measure == "score"])
    if not scripts:
        name = measured.experiment.name
        raise InputError(f"table scripts: '{name}' has no task of a language, such as sib200:hin_Deva; choose another")
    known = {column.name for column in own.columns}
    columns = [
        *(_average(f"script_{script}", NAMES.get(script, script), tasks) for script, tasks in scripts.items()),
        _average("average", "Average", [task for tasks in scripts.values() for task in tasks]),
        *(column for column in SIZES if column.name in known),
    ]
    rows = [
        entry_row(entry, {column.name: own_cell(measured, entry, column, source.evidence) for column in columns})
        for entry in measured.entries
    ]
    rows = mark_under(mark_best(rows, columns), [row for row in rows if row.kind == BASELINE], columns)
    return [
        replace(
            own, number="scripts", title=f"Experiment {own.experiment}: scripts", columns=tuple(columns),
            rows=tuple(rows), notes=(*(note for note in own.notes if note != OF_MINUTES), OF_SCRIPTS),
            missing=tuple(missing_lines(rows, [column for column in columns if column.measure == "average"])),
        )
    ]  # fmt: skip


def _average(name: str, title: str, tasks: Sequence[str]) -> Column:
    """The mean of some tasks, under their number or the one's language."""
    languages = [found[1] for task in tasks if (found := LANGUAGE.search(task))]
    shown = languages[0] if len(languages) == 1 else f"{len(languages)} languages"
    return Column(name, "percent", "average", title, better="high", subtitle=shown, tasks=tuple(tasks))


TABLE = TableFile("scripts", "models by script: the mean over the languages that are written in it", script_table)
