"""Means, spreads, averages and ratios of a made-up experiment, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.runs import Entry
from hashbench.results.tables.measures import View
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def measured(small_store: Store) -> Measured:
    return measure(small_store)


def _entry(measured: Measured, model: str) -> Entry:
    return next(entry for entry in measured.entries if entry.model == model)


def _score(measured: Measured, model: str, task: str) -> Cell:
    column = Column(task, "percent", "score", task=task)
    return View(measured=measured, columns={}).cell(_entry(measured, model), column)


def _average(measured: Measured, model: str, tasks: Sequence[str]) -> Cell:
    scores = {task: Column(task, "percent", "score", task=task) for task in tasks}
    column = Column("average", "percent", "average", tasks=tuple(tasks))
    return View(measured=measured, columns=scores).cell(_entry(measured, model), column)


def _cell(table: Table, model: str, column: str) -> Cell:
    return next(row.cells[column] for row in table.rows if row.model == model)


def test_mean_deviation_and_number_of_seeds(measured: Measured) -> None:
    cell = _score(measured, "bert-mlm", "cola")
    # seeds: 54.1, 54.5, 54.9
    assert (cell.value, cell.std, cell.n, cell.planned) == (pytest.approx(54.5), pytest.approx(0.4), 3, 3)


def test_a_failed_seed_is_counted_as_missing_not_averaged_away(measured: Measured) -> None:
    cell = _score(measured, "hashformer-lsh-proj", "cola")
    # seeds 0 and 1: 55.8, 56.2; deviation with n - 1: 0.4 / sqrt(2)
    assert (cell.value, cell.n, cell.planned) == (pytest.approx(56.0), 2, 3)
    assert cell.std == pytest.approx(0.282843, abs=1e-6)


def test_an_undefined_score_is_missing_with_its_reason(measured: Measured) -> None:
    cell = _score(measured, "hashformer-md-emb-50k", "subj")
    assert (cell.value, cell.n, cell.reason) == (None, None, "undefined: constant predictions")


def test_the_deviation_of_an_average_is_that_of_whole_seeds(measured: Measured) -> None:
    cell = _average(measured, "hashformer-lsh-proj", ["cola", "sst2"])
    # over the seeds with both tasks: (55.8 + 88.5) / 2 = 72.15 and (56.2 + 88.9) / 2 = 72.55
    assert (cell.value, cell.n, cell.planned, cell.of_units) == (pytest.approx(72.35), 2, 3, "2 of 3")
    assert cell.std == pytest.approx(0.4 / 2**0.5)


def test_there_is_no_average_over_fewer_tasks(measured: Measured) -> None:
    cell = _average(measured, "hashformer-md-emb-50k", ["cola", "subj"])
    assert (cell.value, cell.reason) == (None, "without subj")


def test_one_seed_has_no_deviation(paper_store: Store) -> None:
    measured = measure(paper_store)
    cell = _score(measured, "bert-mlm", "cola")
    assert (cell.std, cell.n) == (None, 1)


def test_means_equal_the_stores_view(paper_store: Store, small_store: Store) -> None:
    for store in (paper_store, small_store):
        measured = measure(store)
        rows = store.query("SELECT model, task, value FROM scores_by_model WHERE own = 1 AND checkpoint = 'best'")
        assert len(rows) > 3
        for row in rows:
            cell = _score(measured, row["model"], row["task"])
            assert cell.value == (None if row["value"] is None else pytest.approx(100 * row["value"]))


def test_last_is_read_from_the_last_evaluation(small_store: Store) -> None:
    best, last = (tables(small_store, ReportRequest(checkpoint=checkpoint))[0] for checkpoint in ("best", "last"))
    assert _cell(best, "bert-mlm", "sst2").value == pytest.approx(92.0)
    assert _cell(last, "bert-mlm", "sst2").value == pytest.approx(91.0)


def test_ratios_need_a_baseline_above_zero(tmp_path: Path) -> None:
    class Collapsed(World):
        def score(self, model: str, task: str) -> float:
            return 0.0 if model == "bert-mlm" else 0.3

    store = build(tmp_path / "results.db", Collapsed(models=("bert-mlm", "bert-sr"), tasks=("cola",), seeds=(1,)))
    cell = _cell(tables(store, ReportRequest(table="2"))[0], "bert-sr", "prr_cola")
    assert cell.value is None and "baseline" in cell.reason


def test_an_average_ratio_needs_all_tasks_of_the_paper(small_store: Store) -> None:
    cell = _cell(tables(small_store, ReportRequest(table="2"))[0], "hashformer-lsh-proj", "prr_average")
    assert (cell.value, cell.reason) == (None, "only 2 of 8 tasks")
