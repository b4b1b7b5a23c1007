"""`hashbench board`: the experiments of a database as a folder of static pages.

`index.html` has the best models, all models and tasks; each experiment has its page. Beside each page are
its contents as JSON, for programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import measure_version
from hashbench.results.read.runs import grouped
from hashbench.results.rendering.formats.tidy import tidy
from hashbench.results.rendering.page.data import pairs_data, run_record
from hashbench.results.rendering.page.main import Content, document, own_tables, written
from hashbench.results.tables import numbers
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.table import TRIVIAL, Cell, Row, Table, floor_of, table_floor
from hashbench.store.engine import Store
from hashbench.store.status import StoredExperiment, newest_versions

INDEX = "index"
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")  # characters of a name that no file name gets
FILE_NAME_LETTERS = 60  # letters of the name of a file
LICENCE = re.compile(r"on the hub: .*?licence (.+?), [\d,.]+ [KM]B of files")  # in notes on data
NOT_STATED = "not stated"
SCORE = Column("score", "percent", "score", "Score", better="high", subtitle="average, or a task")
RANK = Column("rank", "rank", "rank", "Rank", better="low", subtitle="95 % interval")
# Tables of the experiments that the table of all models has, if any experiment measured them
COSTS = (
    "emb_params", "total_params", "active_params", "bytes_per_token", "infer_ms", "int8_folder", "int8_score",
    "int8_latency", "int8_text_latency", "float32_folder",
)  # fmt: skip


@dataclass(frozen=True)
class Best:
    """The best model of a table, or of one of its sections, in a column of scores."""

    page: str
    experiment: str
    warnings: Sequence[str]  # of the experiment
    at: str  # the section, where models are compared within it
    column: str
    n_models: int
    model: str
    value: str
    href: str
    tied: tuple[str, ...]  # not separable from it
    why: str  # nothing was compared; '' where it was
    baseline: str  # the floor: the best trivial baseline with its value; for an average, the best one of each task


@dataclass(frozen=True)
class BoardPage:
    """An experiment of a board: its contents and the name of its files."""

    name: str
    stem: str
    content: Content
    fingerprint: str
    earlier: int = 0  # versions of the experiment that were swept before and have no page

    @property
    def table(self) -> Table:
        """The table in which its models are compared: at equal budgets, where it has these, else the first."""
        return next((table for table in self.content.own if table.compares_sections), self.content.own[0])

    @property
    def score(self) -> Column | None:
        """The column by which its models are compared: the average, or the first score if no model has one."""
        scores = [column for column in self.table.columns if column.measure in ("average", "score")]
        models = [row for row in self.table.rows if row.kind == "model"]
        filled = [column for column in scores if any(row.cells[column.name].value is not None for row in models)]
        return next(iter([*filled, *scores]), None)

    def href(self, row: Row, column: Column) -> str:
        """A link from another page to the runs behind a cell, or to the page."""
        return f"{self.stem}.html{self.content.behind.href(row, column)}"

    @cached_property
    def facts(self) -> dict[str, str]:
        """Provenance by label."""
        return dict(self.content.own[0].provenance)

    @property
    def warnings(self) -> list[str]:
        """The warnings on its page in short: the words before the colon, in small letters."""
        lines = (line for table in self.content.own for line in table.warnings)
        return list(dict.fromkeys(line.partition(":")[0].lower() for line in lines))

    @cached_property
    def licences(self) -> dict[str, list[str]]:
        """The tasks by the licence that their data set on the hub declares, `NOT_STATED` for others."""
        runs = [run for run in self.content.measured.runs if run.task is not None]
        of_tasks: dict[str, str] = dict.fromkeys(self.content.measured.tasks(), NOT_STATED)
        for run in runs:
            for _, text in run.origin.notes:
                if (declared := LICENCE.search(text)) and declared[1] != "not declared" and run.task in of_tasks:
                    of_tasks[run.task] = declared[1]
        return grouped((licence, task) for task, licence in of_tasks.items())

    @property
    def n_done(self) -> int:
        """The number of finished runs."""
        return len({run.run_id for run in self.content.measured.runs if run.state == "done"})

    def best(self) -> list[Best]:
        """The best model by the compared score, of each section where models are compared within it."""
        if self.score is None:
            return []
        models = [row for row in self.table.rows if row.kind == "model"]
        sections = grouped((row.section if self.table.compares_sections else "", row) for row in models)
        every = (self.best_of(self.score, rows, at) for at, rows in sections.items())
        return [best for best in every if best is not None]

    def best_of(self, column: Column, rows: Sequence[Row], at: str = "") -> Best | None:
        """The best of some rows in a column; None where none has a value."""
        scored = {id(row): row.cells[column.name].value for row in rows if row.cells[column.name].value is not None}
        if not scored:
            return None
        compared = [row for row in rows if row.cells[column.name].rank]
        first = max(compared or [row for row in rows if id(row) in scored], key=lambda row: scored[id(row)] or 0.0)
        tied = [row for row in compared if row.cells[column.name].best and row is not first]
        baselines = [row for row in self.table.rows if row.is_baseline]
        floor = floor_of(column, self.table.columns, baselines, first.cells)
        return Best(
            self.stem, self.name, self.warnings, at,
            " ".join(filter(None, (column.title or column.name, column.subtitle))),
            len(scored), _title(first), numbers.value(first.cells[column.name], column), self.href(first, column),
            tuple(map(_title, tied)), "" if compared else first.cells[column.name].rating or "not compared",
            f"{floor.name} {numbers.number(floor.value, column.unit)}{floor.size}" if floor else "",
        )  # fmt: skip

    def tasks(self) -> Iterator[tuple[str, Best]]:
        """(task, the best model on it) of each column of scores."""
        models = [row for row in self.table.rows if row.kind == "model"]
        for column in self.table.columns:
            if column.measure == "score" and column.task and (best := self.best_of(column, models)):
                yield column.task, best


@dataclass(frozen=True)
class AllModels:
    """All models and trivial baselines of a board in one table, and the links from its cells to their experiments."""

    table: Table
    pages: tuple[BoardPage, ...]  # of each row

    def href(self, row: Row, column: Column) -> str:
        """A link to the runs behind a cell. Rows are found by identity: names are not unique between experiments."""
        place = next(place for place, of in enumerate(self.table.rows) if of is row)
        page = self.pages[place]
        return page.href(row, page.score if column.name in (SCORE.name, RANK.name) and page.score else column)


def site(store: Store) -> Iterator[tuple[str, str]]:
    """(name, text) of each file of a board."""
    taken: set[str] = {INDEX, "board"}
    pages = []
    for experiment, fingerprint, earlier in newest_versions(store):
        page = _page(store, experiment, fingerprint, earlier, taken)
        if page is not None:
            pages.append(page)
            yield f"{page.stem}.html", document(page.content)
            yield f"{page.stem}.json", _text(_of_experiment(page))
    # The largest come first, so that an experiment precedes another one of its models that adds noise
    pages.sort(key=lambda page: -len(page.content.measured.labels()) * len(page.content.measured.tasks()))
    yield f"{INDEX}.html", _index(pages)
    yield "board.json", _text(_of_board(pages))


def _page(
    store: Store, experiment: StoredExperiment, fingerprint: str, earlier: int, taken: set[str]
) -> BoardPage | None:
    """The page of an experiment under a name that no other file has; None where its newest version has no runs."""
    measured = measure_version(store, experiment)
    if not measured.runs:
        return None
    tables = own_tables(ReportSource(store, ReportRequest(experiment.name), read_before=measured))
    content = Content(measured, tables, on_board=True)
    return BoardPage(experiment.name, file_stem(experiment.name, taken), content, fingerprint, earlier)


def file_stem(name: str, taken: set[str]) -> str:
    """The name of an experiment's files without their ending, one that no other file has; it is added to `taken`."""
    stem = UNSAFE.sub("-", name).strip("-")[:FILE_NAME_LETTERS] or "experiment"
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    stem = next(name for name in names if name.lower() not in taken)  # there are file systems without capitals
    taken.add(stem.lower())
    return stem


def _index(pages: Sequence[BoardPage]) -> str:
    sections = {"best": "Best models", "models": "All models", "tasks": "Tasks", "experiments": "Experiments"}
    by_task = grouped(pair for page in pages for pair in page.tasks())
    n_finished = len({run.run_id for page in pages for run in page.content.measured.runs if run.state == "done"})
    counts = {
        "experiment": len(pages), "model": len({label for page in pages for label in page.content.measured.labels()}),
        "task": len(by_task), "finished run": n_finished,
    }  # fmt: skip
    return written(
        "board.html",
        title="hashbench board",
        sections=sections,
        pages=pages,
        counts=[f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in counts.items()],
        n_earlier=sum(page.earlier for page in pages),
        best=[best for page in pages for best in page.best()],
        models=all_models(pages),
        tasks=by_task,
        data={"tables": {}},
    )


def all_models(pages: Sequence[BoardPage]) -> AllModels:
    """The models of all experiments with scores, ranks, sizes and times, each beside its experiment.

    The last row of an experiment is its floor, in the place of all of its trivial baselines.
    """
    named = {column.name: column for page in pages for table in page.content.own for column in table.columns}
    columns = (SCORE, RANK, *(named[name] for name in COSTS if name in named))
    rows, of_rows = [], []
    for page in pages:
        others = {(row.title, row.settings): row.cells for table in page.content.own for row in table.rows}
        if page.score is None:
            continue
        floor = _floor_row(page, page.score)
        for row in [*(row for row in page.table.rows if row.kind == "model"), *([floor] if floor else [])]:
            if row.measured():
                cells = {**others.get((row.title, row.settings), {}), **row.cells}
                score = cells[page.score.name]
                shown = {name: replace(cells.get(name, Cell()), best=False) for name in COSTS if name in named}
                shown |= {SCORE.name: score, RANK.name: _rank(score)}
                at = "best trivial baseline" if row.is_baseline else row.section if page.table.compares_sections else ""
                where = [page.name, *page.warnings, at, row.settings]
                rows.append(replace(row, cells=shown, section="", settings=", ".join(filter(None, where))))
                of_rows.append(page)
    title = "All models: scores of different experiments are not comparable"
    return AllModels(Table("", "models", title, "", columns, tuple(rows), published=False), tuple(of_rows))


def _floor_row(page: BoardPage, score: Column) -> Row | None:
    """The best trivial baseline in a column, or a row with the mean over the tasks of each one's best."""
    floor = table_floor(page.table, score)
    if floor is None:
        return None
    baselines = [row for row in page.table.rows if row.is_baseline and row.title == floor.name]
    same = [row for row in baselines if row.cells[score.name].value == floor.value]
    cell = Cell(floor.value, unit=score.unit)
    empty = {column.name: Cell() for column in page.table.columns}
    return next(iter(same), Row("", floor.name, {**empty, score.name: cell}, TRIVIAL))


def _rank(score: Cell) -> Cell:
    if not score.rank:
        return Cell(unit=RANK.unit, reason=score.rating or score.reason or "not compared")
    return Cell(float(score.rank), unit=RANK.unit, interval=score.ranks, best=score.best)


def _title(row: Row) -> str:
    return row.title.strip() + (f" ({row.settings})" if row.settings else "")


def _of_board(pages: Sequence[BoardPage]) -> dict[str, Any]:
    """The board for programs: experiments with their files, the best models, and all models."""
    every = all_models(pages)
    return {
        "experiments": [
            {"name": page.name, "fingerprint": page.fingerprint, "earlier": page.earlier, "page": f"{page.stem}.html",
             "json": f"{page.stem}.json", "finished_runs": page.n_done,
             "warnings": page.warnings, "data_licences": page.licences}
            for page in pages
        ],
        "best": [
            {"experiment": best.experiment, "at": best.at, "column": best.column, "model": best.model,
             "not_separable": best.tied, "not_compared": best.why}
            for page in pages for best in page.best()
        ],
        "models": [
            {"experiment": page.name, "model": row.title.strip(), "where": row.settings,
             **{name: {"value": cell.value, "unit": cell.unit, **({"interval": cell.interval} if cell.interval else {})}
                for name, cell in row.cells.items() if cell.value is not None}}
            for row, page in zip(every.table.rows, every.pages, strict=True)
        ],
    }  # fmt: skip


def _of_experiment(page: BoardPage) -> dict[str, Any]:
    """An experiment for programs: its tables cell by cell, the compared pairs, what was not run, and its runs."""
    content = page.content
    return {
        "experiment": page.name,
        "fingerprint": page.fingerprint,
        "provenance": page.facts,
        "warnings": list(dict.fromkeys(line for table in content.own for line in table.warnings)),
        "tables": [{"title": table.title, "notes": table.notes, "cells": tidy([table])} for table in content.own],
        "pairs": [
            {"table": table.title, **pairs_data(pairs, table), "column": pairs.column, "rows": pairs.rows}
            for table in content.own for pairs in table.pairs
        ],
        "not_run": [{"what": line.what, "why": line.why, "models": line.models} for line in content.lacking],
        "runs": [run_record(content.measured, run) for run in content.measured.runs],
    }  # fmt: skip


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"
