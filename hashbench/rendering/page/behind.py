"""What stands behind the cells of a page: runs with their scores, commits, machines and data, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hashbench.papers.column import Column
from hashbench.results.measured import Measured, MeasuredRun
from hashbench.tables.table import Row, Table

SCORED = ("score", "average", "prr", "prr_average", "drop", "gain")  # measures that stand on runs of tasks


class Texts:
    """Strings that many runs share, each kept once and named by its place."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Where a string stands in `all`."""
        if text not in self._places:
            self._places[text] = len(self.all)
            self.all.append(text)
        return self._places[text]


def runs_of(measured: Measured, texts: Texts) -> list[dict[str, Any]]:
    """Every run under each of its labels, finished or not, as the page's script reads it."""
    return [_run(measured, run, texts) for run in measured.runs]


def _run(measured: Measured, run: MeasuredRun, texts: Texts) -> dict[str, Any]:
    scores = measured.scores[run.model, run.run_id] if (run.model, run.run_id) in measured.scores else ()
    origin = run.origin
    finished = datetime.fromtimestamp(origin.finished_at, UTC) if origin.finished_at else None
    found = {
        "id": run.run_id[:16], "kind": texts.place(run.kind), "model": texts.place(run.model),
        "task": None if run.task is None else texts.place(run.task), "seed": run.seed, "state": texts.place(run.state),
        "reason": texts.place(run.reason) if run.reason else None, "data": texts.place(run.fingerprint),
        "commit": texts.place(origin.git_commit + (" with uncommitted changes" if origin.has_diff else "")),
        "machine": texts.place(origin.hardware), "encoder": texts.place(run.encoder),
        "software": texts.place(", ".join(f"{name} {version}" for name, version in origin.packages)),
        "notes": [texts.place(f"{topic}: {text}") for topic, text in origin.notes if text],
        "seconds": round(origin.seconds, 1), "at": finished.strftime("%Y-%m-%d %H:%M UTC") if finished else "",
        "scores": {f"{one.metric} {one.split}": one.value for one in scores},
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in (None, "", [], {})}


def behind(table: Table, measured: Measured) -> dict[str, Any]:
    """For each row of a table the runs of its model, for each column which of them count."""
    return {
        "title": table.title,
        "columns": [_column(column) for column in table.columns],
        "rows": [{"name": row.title.strip(), "runs": _runs_of_row(row, measured)} for row in table.rows],
        "baseline": _places(measured, [run for run in measured.runs if run.model == measured.experiment.baseline]),
        "reasons": {
            f"{place},{index}": row.cells[column.name].reason
            for place, row in enumerate(table.rows)
            for index, column in enumerate(table.columns)
            if row.cells[column.name].reason
        },
    }


def _column(column: Column) -> dict[str, Any]:
    tasks: Sequence[str | None] = [column.task]
    if column.measure in ("average", "prr_average"):
        tasks = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
    title = " ".join(filter(None, (column.title or column.name, column.subtitle)))
    return {
        "title": title, "unit": column.unit, "measure": column.measure, "tasks": [task for task in tasks if task],
        "reads": f"{column.metric} {column.split}" if column.metric else "", "scored": column.measure in SCORED,
        "ratio": column.measure in ("prr", "prr_average", "drop", "gain"),
    }  # fmt: skip


def _runs_of_row(row: Row, measured: Measured) -> list[int]:
    """Places of the runs that a row may stand on: of its entry, and those of its model that belong to no task."""
    entries = [
        entry
        for entry in measured.entries
        if entry.model == row.model and (not row.encoder or entry.encoder == row.encoder)
        and (entry.settings in row.settings or not entry.settings)
    ]  # fmt: skip
    scored = {id(run) for entry in entries for run in entry.runs}
    found = [run for run in measured.runs if id(run) in scored]
    found += [run for run in measured.runs if run.model == row.model and run.kind in ("pretrain", "efficiency")]
    return _places(measured, found)


def _places(measured: Measured, runs: Sequence[MeasuredRun]) -> list[int]:
    wanted = {id(run) for run in runs}
    return [place for place, run in enumerate(measured.runs) if id(run) in wanted]
