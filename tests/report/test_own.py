"""The experiment's own table."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.report.main import tables
from hashbench.report.rows import Row, Table
from hashbench.store.engine import Store
from tests.report.made_up import World, build


@pytest.fixture(scope="module")
def own(small_store: Store) -> Table:
    return tables(small_store)[0]


def _row(table: Table, model: str) -> Row:
    return next(row for row in table.rows if row.model == model)


def test_every_model_by_every_task_with_average_sizes_and_time(own: Table) -> None:
    names = [column.name for column in own.columns]
    assert names[:4] == ["sst2", "cola", "subj", "average"]  # the paper's order, then the user's own
    assert names[4:] == ["total_params", "emb_params", "pt_ms", "infer_ms", "run_minutes"]
    models = ["bert-mlm", "hashformer-md-emb-50k", "hashformer-lsh-proj", "majority", "bag-of-words"]
    assert [row.model for row in own.rows] == models


def test_columns_are_headed_by_the_metric_that_is_read(own: Table) -> None:
    assert [column.subtitle for column in own.columns][:3] == ["accuracy", "matthews", "accuracy"]


def test_the_average_is_over_the_tasks_that_all_models_share(own: Table) -> None:
    assert own.columns[3].tasks == ("sst2", "cola")
    assert "Average over the 2 of 3 tasks that all models share; without subj." in own.notes
    assert _row(own, "bert-mlm").cells["average"].value == pytest.approx((92.0 + 54.5) / 2)


def test_minutes_are_those_of_pre_training_and_fine_tunings(own: Table) -> None:
    # 600 s of pre-training, 9 fine-tunings of 60 s; of lsh-proj one failed
    assert _row(own, "bert-mlm").cells["run_minutes"].value == pytest.approx(19.0)
    assert _row(own, "hashformer-lsh-proj").cells["run_minutes"].value == pytest.approx(18.0)


def test_without_sizes_and_times_there_are_no_such_columns(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False))
    assert [column.name for column in tables(store)[0].columns] == ["cola", "average", "run_minutes"]


def test_an_experiment_without_a_finished_run_is_all_missing(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False, floors=False)
    world.failed = {("bert-mlm", None, 0)}  # type: ignore[arg-type]  # the pre-training
    table = tables(build(tmp_path / "results.db", world))[0]
    assert _row(table, "bert-mlm").cells["cola"].reason == "planned, not finished"
    assert "No average: there is no task on which every model has a score." in table.notes
