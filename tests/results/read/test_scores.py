"""The tidy table of scores: what the report shows, and on demand everything."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.read.queries import SCORE_COLUMNS
from hashbench.results.read.scores import best_kept, results
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_store
from hashbench.store.finishing import finish
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Result
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(tasks=("cola", "mnli"), seeds=(0, 1), undefined={("hashformer-lsh-proj", "cola")})
    return build(tmp_path_factory.mktemp("scores") / "results.db", world)


def test_one_row_a_model_task_and_seed_as_in_the_report(store: Store) -> None:
    table = results(store)
    assert list(table.columns) == list(SCORE_COLUMNS)
    assert not table.duplicated(["model", "task", "seed"]).any()
    assert len(table) == 3 * 2 * 2 + 2 * 2  # three models, and two trivial baselines without a seed
    assert set(table.checkpoint) == {"best"} and table.own.all()
    row = table[(table.model == "bert-mlm") & (table.task == "mnli") & (table.seed == 0)].iloc[0]
    assert (row.metric, row.split, row.step) == ("accuracy", "validation_matched", 200)
    undefined = table[(table.model == "hashformer-lsh-proj") & (table.task == "cola")]
    assert all(math.isnan(value) for value in undefined.value)
    assert set(undefined.reason) == {"constant predictions"}


def test_everything_has_the_last_evaluation_too(store: Store) -> None:
    table = results(store, everything=True)
    assert set(table.checkpoint) == {"best", "last"} and len(table) == 2 * len(results(store))


def test_a_file_is_closed_and_a_store_that_was_given_stays_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Store] = []
    close = Store.close
    monkeypatch.setattr(Store, "close", lambda self: (closed.append(self), close(self)))
    assert len(results(store)) and not closed
    assert len(results(store.name, "made-up")) == len(results(store))
    assert [one.name for one in closed] == [store.name] and closed[0] is not store
    with pytest.raises(InputError, match="no experiment 'other'"):
        results(store, "other")


def shown(store: Store) -> dict[tuple[str, str], float]:
    """The scores of the experiment's own table, by model and task."""
    (table,) = tables(store, ReportRequest())
    columns = [column for column in table.columns if column.measure == "score"]
    cells = {(row.model, str(column.task)): row.cells[column.name].value for row in table.rows for column in columns}
    return {place: value for place, value in cells.items() if value is not None}


def test_the_pivot_that_everybody_writes_has_the_numbers_of_the_report(store: Store) -> None:
    pivot = 100 * results(store).pivot_table(index="model", columns="task", values="value")
    expected = shown(store)
    found = {(model, task): pivot.loc[model, task] for model, task in expected}
    assert found == pytest.approx(expected)
    assert len(expected) == 3 * 2 + 2 * 2 - 1  # one model has no score on cola


SCORES = {"good": 0.9, "better": 0.95, "lost": 0.99}


def test_of_each_task_the_best_whose_weights_were_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db")
    row = Run("", "finetune", "", "tiny", {}, task="cola", seed=0, metric="matthews", split="validation")
    rows = [replace(row, id=f"{model}-{task}", model=model, task=task) for task in ("cola", "rte") for model in SCORES]
    number = add_experiment(store, "exp", {}, rows, baseline="good")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        score = 1 - SCORES[held.model] if held.task == "rte" else SCORES[held.model]
        metrics = [MetricRow("matthews", score, "validation", 7), MetricRow("best_step", 7), MetricRow("last_step", 7)]
        files = [Artifact(kind, f"{held.run_id}/{kind}", 1, "ab" * 32) for kind in ("weights", "head")]
        finish(store, held, Result(metrics, artifacts=[] if held.model == "lost" else files))
    store.close()
    best = best_kept(tmp_path / "r.db", "exp", ("rte", "cola"))
    assert {run.split for run in best} == {"validation"}
    found = [(run.task, run.model, run.run_id) for run in best]
    assert found == [("cola", "better", "better-cola"), ("rte", "good", "good-rte")]
    assert [run.task for run in best_kept(tmp_path / "r.db", "exp", {"rte"})] == ["rte"]


def test_a_test_set_chooses_no_model(tmp_path: Path) -> None:
    """Where scores are reported on test, the model is the one with the best score on validation or held-out rows."""
    store = open_store(tmp_path / "r.db")
    row = Run("", "finetune", "", "tiny", {}, seed=0, metric="accuracy", split="test")
    on_other_rows = {"atis": "validation", "ag_news": "holdout"}
    rows = [
        replace(row, id=f"{model}-{task}", model=model, task=task) for task in on_other_rows for model in ("a", "b")
    ]
    number = add_experiment(store, "exp", {}, rows, baseline="a")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        scores = {"test": 0.7, on_other_rows[held.task]: 0.8} if held.model == "a" else {"test": 0.9}
        scores = {on_other_rows[held.task]: 0.6, **scores}
        metrics = [MetricRow("accuracy", score, split, 7) for split, score in scores.items()]
        files = [Artifact("head", f"{held.run_id}/head", 1, "ab" * 32)]
        finish(store, held, Result([*metrics, MetricRow("best_step", 7), MetricRow("last_step", 7)], artifacts=files))
    store.close()
    found = [(run.task, run.model, run.split, run.value) for run in best_kept(tmp_path / "r.db", "exp", on_other_rows)]
    assert found == [("atis", "a", "validation", 0.8), ("ag_news", "a", "holdout", 0.8)]
