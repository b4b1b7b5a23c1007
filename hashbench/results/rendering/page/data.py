"""The data of a page, for its scripts and for programs: the runs, and which of them are behind each cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from hashbench.common.measured import TEXTS_NOTE
from hashbench.common.showing import percent_text
from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun, grouped
from hashbench.results.tables.table import ComparedPairs, Row, Table

RATIOS = ("prr", "prr_average", "drop", "gain")  # measures that are computed from the baseline's runs too
PAGE_ID_LETTERS = 12  # letters of an id, a commit or a fingerprint
NAMED_RUNS = 12  # runs of a model on a task that a page names one by one without a script


@dataclass(frozen=True)
class RunGroup:
    """The runs of a model on a task, or of one kind without a task, as a page lists them."""

    anchor: str  # its id on the page
    model: str
    what: str  # the task, or the kind of run
    runs: tuple[MeasuredRun, ...]
    scores: tuple[str, ...]  # of each run, in percent: what the experiment reports

    @property
    def listed(self) -> list[tuple[MeasuredRun, str]]:
        """The first runs with their scores."""
        return list(zip(self.runs, self.scores, strict=True))[:NAMED_RUNS]

    @property
    def code(self) -> list[str]:
        """The versions of the code that computed them."""
        return _each(run.origin.code(PAGE_ID_LETTERS) for run in self.runs if run.state == "done")

    @property
    def data(self) -> list[str]:
        """The fingerprints of their data, cut."""
        return _each(run.fingerprint[:PAGE_ID_LETTERS] for run in self.runs)

    @property
    def machines(self) -> list[str]:
        """The machines that they ran on."""
        return _each(run.origin.hardware for run in self.runs)

    @property
    def states(self) -> list[str]:
        """The states of the runs that are not finished."""
        return _each(
            f"{run.state}{f': {run.reason}' if run.reason else ''}" for run in self.runs if run.state != "done"
        )


class RunsBehind:
    """The runs of an experiment, by the rows and cells of its tables."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self._places = {id(run): place for place, run in enumerate(measured.runs)}
        self._entries = grouped((entry.model, entry) for entry in measured.entries)
        self._without_task = grouped((run.model, run) for run in measured.runs if run.task is None)
        self._of_rows: dict[tuple[str, str, str], list[int]] = {}  # by model, encoder and settings

    @cached_property
    def groups(self) -> list[RunGroup]:
        """All runs grouped by model, in the experiment's order."""
        by_model = grouped((run.model, run) for run in self.measured.runs)
        by_group = {
            (model, what): runs
            for model, its in by_model.items()
            for what, runs in grouped((run.task or run.kind, run) for run in its).items()
        }
        return [
            RunGroup(f"runs-{number}", model, what, tuple(runs), tuple(map(self._score, runs)))
            for number, ((model, what), runs) in enumerate(by_group.items())
        ]

    @cached_property
    def _anchors(self) -> dict[tuple[str, str], str]:
        return {(group.model, group.what): group.anchor for group in self.groups}

    def _score(self, run: MeasuredRun) -> str:
        values = [score.value for score in self.measured.scores_of(run) if score.own and score.value is not None]
        return percent_text(values[0], 2) if values else ""

    def of_row(self, row: Row) -> list[int]:
        """Indexes of the runs behind a row: the runs of its entry, and its model's runs without a task."""
        key = (row.model, row.encoder, row.settings)
        if key not in self._of_rows:
            self._of_rows[key] = self._behind(row)
        return self._of_rows[key]

    def _behind(self, row: Row) -> list[int]:
        scored = [
            run
            for entry in self._entries.get(row.model, ())
            if (not row.encoder or entry.encoder == row.encoder)
            and (entry.settings in row.settings or not entry.settings)
            for run in entry.runs
        ]
        return sorted({self._places[id(run)] for run in (*scored, *self._without_task.get(row.model, ()))})

    def href(self, row: Row, column: Column) -> str:
        """A link to the runs behind a cell, as '#runs-3'; to the first of several groups, '' where there is none."""
        named = [column.task] if column.task else [task for task in tasks_of(column) if task]
        first = next((self._anchors[row.model, task] for task in named if (row.model, task) in self._anchors), "")
        if not first and (places := self.of_row(row)):
            run = self.measured.runs[places[0]]
            first = self._anchors[run.model, run.task or run.kind]
        return first and f"#{first}"


def page_data(behind: RunsBehind, tables: Mapping[str, Table]) -> dict[str, Any]:
    """The data that the page's scripts read: runs, tables by id, and the texts to which runs refer by index."""
    places: dict[str, int] = {}
    measured = behind.measured
    return {
        "runs": [_packed(run_record(measured, run), places) for run in measured.runs],
        "texts": list(places),
        "baseline": [place for place, run in enumerate(measured.runs) if run.model == measured.experiment.baseline],
        "tables": {name: _table(table, behind) for name, table in tables.items()},
    }


def run_record(measured: Measured, run: MeasuredRun) -> dict[str, Any]:
    """A run with its scores and how it was made, without what is empty."""
    origin = run.origin
    finished = datetime.fromtimestamp(origin.finished_at, UTC) if origin.finished_at else None
    values = {
        "id": run.run_id, "kind": run.kind, "model": run.model, "task": run.task, "seed": run.seed,
        "state": run.state, "reason": run.reason, "data": run.fingerprint,
        "commit": origin.code() if run.state == "done" else "", "machine": origin.hardware, "encoder": run.encoder,
        "software": ", ".join(f"{name} {version}" for name, version in origin.packages),
        "notes": [f"{topic}: {text}" for topic, text in origin.notes if text and topic != TEXTS_NOTE],
        "seconds": round(origin.seconds, 1), "at": finished.strftime("%Y-%m-%d %H:%M UTC") if finished else "",
        "scores": {f"{score.metric} {score.split}": score.value for score in measured.scores_of(run)},
    }  # fmt: skip
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _packed(record: dict[str, Any], places: dict[str, int]) -> dict[str, Any]:
    """A run as the page's script reads it: texts, which many runs share, by index. `places` is extended."""

    def place(value: Any) -> Any:
        if isinstance(value, list):
            return [place(text) for text in value]
        return places.setdefault(value, len(places)) if isinstance(value, str) else value

    return {name: value if name == "at" else place(value) for name, value in record.items()} | {"id": record["id"][:16]}


def _table(table: Table, behind: RunsBehind) -> dict[str, Any]:
    """A table as the page's script reads it: columns with their scores, rows with the runs behind them, and pairs."""
    return {
        "title": table.title,
        "columns": [_column(column) for column in table.columns],
        "rows": [{"name": row.title.strip(), "runs": behind.of_row(row)} for row in table.rows],
        "pairs": sorted((pairs_data(pairs, table) for pairs in table.pairs), key=lambda of: of["column"]),
    }


def pairs_data(pairs: ComparedPairs, table: Table) -> dict[str, Any]:
    """The compared models of a column: index of the column, rows, means, differences of each from those before, and
    half-widths of their intervals.

    Rows are indexes, None for one that the table does not show; a half-width is None where two have no seed in common.
    """
    places = {(row.title, row.settings): place for place, row in enumerate(table.rows)}
    return {
        "column": next(place for place, column in enumerate(table.columns) if column.name == pairs.column),
        "rows": [places.get(key) for key in pairs.rows],
        "means": [round(mean, 6) for mean in pairs.means],
        "by": [[round(of, 6) for of in row[:place]] for place, row in enumerate(pairs.differences)],
        "half": [
            [None if math.isnan(half) else round(half, 4) for half in row[:place]]
            for place, row in enumerate(pairs.half_widths)
        ],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "title": " ".join(filter(None, (column.title or column.name, column.subtitle))),
        "measure": column.measure,
        "tasks": tasks_of(column),
        "reads": f"{column.metric} {column.split}" if column.metric else "",
        "scored": column.measure in ("score", "average", *RATIOS),
        "ratio": column.measure in RATIOS,
    }


def tasks_of(column: Column) -> list[str]:
    """The tasks that a column reads: one, or all tasks of an average."""
    tasks: Sequence[str | None] = [column.task]
    if column.measure in ("average", "prr_average"):
        tasks = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
    return [task for task in tasks if task]


def _each(texts: Iterable[str]) -> list[str]:
    """The distinct texts that are not empty, in the order in which they come first."""
    return list(dict.fromkeys(text for text in texts if text))


MEASURES = ("score", "fact")  # of columns whose empty cells mean that something was not done
KINDS = ("model", "floor")


@dataclass(frozen=True)
class Lacking:
    """A column that some models have no number in: why, which models, and of how many rows of the table.

    `others`: the models that have one, where these are fewer.
    """

    what: str
    why: str
    models: tuple[str, ...]
    n_rows: int
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The models in words."""
        if self.others:
            return f"{len(self.models)} of {self.n_rows}: all but {', '.join(self.others)}"
        return f"{len(self.models)} of {self.n_rows}: {', '.join(self.models)}"


def lacking_of(tables: Sequence[Table], measured: Measured) -> list[Lacking]:
    """The empty cells of tables by column and reason, then the runs that are not finished, by state."""
    lines: dict[tuple[str, str], Lacking] = {}
    for table in tables:
        rows = [row for row in table.rows if row.kind in KINDS]
        for column in table.columns:
            has_any = any(row.cells[column.name].value is not None for row in rows)
            if column.measure not in MEASURES or not (has_any or column.measure == "score"):
                continue
            what = " ".join(filter(None, (column.title or column.name, column.subtitle)))
            empty = [row for row in rows if (cell := row.cells[column.name]).value is None and cell.reason]
            for why, of in grouped((row.cells[column.name].reason, row.title.strip()) for row in empty).items():
                others = tuple(row.title.strip() for row in rows if row.cells[column.name].value is not None)
                few = others if len(of) == len(rows) - len(others) and len(others) < len(of) else ()
                lines.setdefault((what, why), Lacking(what, why, tuple(dict.fromkeys(of)), len(rows), few))
    open_runs = [run for run in measured.runs if run.state != "done"]
    for state, named in grouped((run.state, f"{run.model} on {run.task or run.kind}") for run in open_runs).items():
        what = f"{len(named)} runs" if len(named) > 1 else "1 run"
        lines["runs", state] = Lacking(what, state, tuple(dict.fromkeys(named)), len(measured.runs))
    return list(lines.values())
