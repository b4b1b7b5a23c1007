"""What stands behind the cells of a page: runs with their scores, commits, machines and data, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables.table import Row, Table

RATIOS = ("prr", "prr_average", "drop", "gain")  # measures that stand on the baseline's runs too


class SharedTexts:
    """Strings that many runs share, each kept once and named by its place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Where a string stands in `all`."""
        return self._places.setdefault(text, len(self._places))

    def all(self) -> list[str]:
        """The strings in the order of their places."""
        return list(self._places)


def run_data(measured: Measured, run: MeasuredRun, texts: SharedTexts) -> dict[str, Any]:
    """A run as the page's script reads it, finished or not."""
    origin = run.origin
    finished = datetime.fromtimestamp(origin.finished_at, UTC) if origin.finished_at else None
    values = {
        "id": run.run_id[:16], "kind": texts.place(run.kind), "model": texts.place(run.model),
        "task": None if run.task is None else texts.place(run.task), "seed": run.seed, "state": texts.place(run.state),
        "reason": texts.place(run.reason) if run.reason else None, "data": texts.place(run.fingerprint),
        "commit": texts.place(origin.code() if run.state == "done" else ""),
        "machine": texts.place(origin.hardware), "encoder": texts.place(run.encoder),
        "software": texts.place(", ".join(f"{name} {version}" for name, version in origin.packages)),
        "notes": [texts.place(f"{topic}: {text}") for topic, text in origin.notes if text],
        "seconds": round(origin.seconds, 1), "at": finished.strftime("%Y-%m-%d %H:%M UTC") if finished else "",
        "scores": {f"{score.metric} {score.split}": score.value for score in measured.scores_of(run)},
    }  # fmt: skip
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def table_data(table: Table, measured: Measured) -> dict[str, Any]:
    """For each row of a table the runs of its model, for each column which of them count."""
    baseline = measured.experiment.baseline
    return {
        "title": table.title,
        "columns": [_column(column) for column in table.columns],
        "rows": [{"name": row.title.strip(), "runs": _runs_of_row(row, measured)} for row in table.rows],
        "baseline": [place for place, run in enumerate(measured.runs) if run.model == baseline],
    }


def _column(column: Column) -> dict[str, Any]:
    tasks: Sequence[str | None] = [column.task]
    if column.measure in ("average", "prr_average"):
        tasks = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
    return {
        "title": " ".join(filter(None, (column.title or column.name, column.subtitle))),
        "measure": column.measure,
        "tasks": [task for task in tasks if task],
        "reads": f"{column.metric} {column.split}" if column.metric else "",
        "scored": column.measure in ("score", "average", *RATIOS),
        "ratio": column.measure in RATIOS,
    }


def _runs_of_row(row: Row, measured: Measured) -> list[int]:
    """Places of the runs that a row may stand on: of its entry, and those of its model that belong to no task."""
    scored = {
        id(run)
        for entry in measured.entries
        if entry.model == row.model and (not row.encoder or entry.encoder == row.encoder)
        and (entry.settings in row.settings or not entry.settings)
        for run in entry.runs
    }  # fmt: skip
    return [
        place
        for place, run in enumerate(measured.runs)
        if id(run) in scored or (run.model == row.model and run.task is None)
    ]
