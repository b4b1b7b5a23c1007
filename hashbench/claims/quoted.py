"""Systems that a paper quotes and nothing here trains: their printed score counts on the same test set only."""

from __future__ import annotations

from hashbench.papers.paper import Paper
from hashbench.results.measured import Measured
from hashbench.results.origins import task_origins
from hashbench.tables.paper import printed_number


def quoted_systems(paper: Paper) -> set[str]:
    """The names of a paper's quoted systems."""
    sections = [section for layout in paper.tables.values() for section in layout.sections]
    return {name for section in sections for name in section.quoted}


def other_test_set(measured: Measured, paper: Paper, task: str) -> str:
    """Why the experiment's test set of a task is not the one that the paper's scores speak of; '' where it is."""
    origin = task_origins(measured, paper)[task]
    if origin.built_in:
        return f"{task} is built-in data"
    official = paper.reported_rows[task] if task in paper.reported_rows else None
    if origin.n_reported != official:
        return f"{task} has {origin.n_reported or 0:,} test rows, the published set {official or 0:,}"
    printed = _printed_rows(paper, task)
    if printed is not None and official is not None and abs(printed - official) > _rounding(printed) / 2:
        return f"the paper's test set of {task} has {printed:,} rows, the published one {official:,}"
    return ""


def _printed_rows(paper: Paper, task: str) -> int | None:
    """Test rows that the paper prints of a data set."""
    for layout in paper.tables.values():
        for section in layout.sections:
            for name, ours in section.tasks.items():
                found = printed_number(paper, name, "test") if ours == task else None
                if found is not None:
                    return round(found.value)
    return None


def _rounding(number: int) -> int:
    """The unit of the last digit that is not a trailing zero.

    >>> _rounding(15_000), _rounding(893)
    (1000, 1)
    """
    unit = 1
    while number and number % (10 * unit) == 0:
        unit *= 10
    return unit
