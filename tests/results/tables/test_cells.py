"""Means, spreads, averages and ratios of a made-up experiment, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.runs import Entry
from hashbench.results.tables.cells import average_cell, score_cell
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Table
from hashbench.store.engine import Store
from hashbench.store.status import StoredExperiment
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def measured(small_store: Store) -> Measured:
    return measure(small_store)


def _entry(measured: Measured, model: str) -> Entry:
    return next(entry for entry in measured.entries if entry.model == model)


def _cell(table: Table, model: str, column: str) -> Cell:
    return next(row.cells[column] for row in table.rows if row.model == model)


def test_mean_deviation_and_number_of_seeds(measured: Measured) -> None:
    cell = score_cell(_entry(measured, "bert-mlm"), "cola", measured.own)
    # seeds: 54.1, 54.5, 54.9
    assert (cell.value, cell.std, cell.n, cell.planned) == (pytest.approx(54.5), pytest.approx(0.4), 3, 3)


def test_a_failed_seed_is_counted_as_missing_not_averaged_away(measured: Measured) -> None:
    cell = score_cell(_entry(measured, "hashformer-lsh-proj"), "cola", measured.own)
    # seeds 0 and 1: 55.8, 56.2; deviation with n - 1: 0.4 / sqrt(2)
    assert (cell.value, cell.n, cell.planned) == (pytest.approx(56.0), 2, 3)
    assert cell.std == pytest.approx(0.282843, abs=1e-6)


def test_an_undefined_score_is_missing_with_its_reason(measured: Measured) -> None:
    cell = score_cell(_entry(measured, "hashformer-md-emb-50k"), "subj", measured.own)
    assert (cell.value, cell.n, cell.reason) == (None, None, "undefined: constant predictions")


def test_the_deviation_of_an_average_is_that_of_whole_seeds(measured: Measured) -> None:
    cell = average_cell(_entry(measured, "hashformer-lsh-proj"), ["cola", "sst2"], measured.own)
    # means 56.0 and 88.9; seeds with both tasks: (55.8 + 88.5) / 2 = 72.15 and (56.2 + 88.9) / 2 = 72.55
    assert (cell.value, cell.n, cell.planned) == (pytest.approx(72.45), 2, 3)
    assert cell.std == pytest.approx(0.4 / 2**0.5)


def test_there_is_no_average_over_fewer_tasks(measured: Measured) -> None:
    cell = average_cell(_entry(measured, "hashformer-md-emb-50k"), ["cola", "subj"], measured.own)
    assert (cell.value, cell.reason) == (None, "without subj")


def test_one_seed_has_no_deviation(paper_store: Store) -> None:
    measured = measure(paper_store)
    cell = score_cell(_entry(measured, "bert-mlm"), "cola", measured.own)
    assert (cell.std, cell.n) == (None, 1)


def test_means_equal_the_stores_view(paper_store: Store, small_store: Store) -> None:
    for store in (paper_store, small_store):
        measured = measure(store)
        rows = store.query("SELECT model, task, value FROM scores_by_model WHERE own = 1 AND checkpoint = 'best'")
        assert len(rows) > 3
        for row in rows:
            cell = score_cell(_entry(measured, row["model"]), row["task"], measured.own)
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


def test_a_score_without_fine_tuning_is_of_the_pretraining_with_its_seed() -> None:
    """Whichever seeds the pre-trainings have, and although some model has another number of them."""
    config = {"pretrain": {"seeds": [3, 5]}, "models": [{"name": "b", "pretrain": {"seeds": [3, 5, 7, 9]}}]}
    experiment = StoredExperiment(1, "e", "a", config, "", 0.0, 0.0)
    runs = [SimpleNamespace(task=task, is_untuned=task == "blimp") for task in ("cola", "blimp")]
    measured = Measured(experiment, "best", runs, (), {}, {}, {}, {}, lambda: ())
    assert measured.units([3, 5, 7], ["blimp"]) == [3, 5, 7]
    assert measured.units([0, 1, 2], ["cola"]) == measured.units([0, 1, 2], ["blimp", "cola"]) == [0, 1, 0]


def test_a_model_that_was_scored_as_it_was_pre_trained_alone_takes_no_average_away():
    def run(name, task):
        return SimpleNamespace(task=task, key=(name, task), is_scored=True, is_evaluation=task == "blimp")

    def entry(*runs, is_baseline=False):
        of_task = lambda task: [run for run in runs if run.task == task]  # noqa: E731
        return SimpleNamespace(runs=runs, of_task=of_task, is_baseline=is_baseline)

    runs = [run("a", "cola"), run("a", "blimp"), run("b", "blimp"), run("floor", "rte")]
    scores = {each.key: (SimpleNamespace(own=True, value=0.5),) for each in runs}
    entries = (entry(*runs[:2]), entry(runs[2]), entry(runs[3], is_baseline=True))
    measured = Measured(None, "best", tuple(runs), entries, scores, {}, {}, {}, lambda: ())
    assert measured.shared_tasks(["cola", "rte"]) == ["cola"]
    unfinished = run("b", "cola")  # planned: the average waits for it
    later = replace(measured, entries=(entries[0], entry(runs[2], unfinished)))
    assert later.shared_tasks(["cola", "rte"]) == []
