"""The tidy table of scores: what the report shows, and on demand everything."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.results.read.queries import SCORE_COLUMNS
from hashbench.results.read.scores import results
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store
from hashbench.store.planning import add_experiment
from hashbench.store.status import versions
from tests.databases.made_up import World, build, specs


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


def test_the_newest_version_of_a_name_counts_and_an_earlier_one_is_asked_for(tmp_path: Path) -> None:
    world = World(tasks=("cola",), seeds=(0, 1))
    store = build(tmp_path / "results.db", world)
    (_, first), *_ = versions(store)
    fewer = [row for row in specs(world) if (row.kind, row.seed) != ("finetune", 1)]
    add_experiment(store, "made-up", {"name": "made-up"}, fewer, baseline="bert-mlm")
    whole, newest = results(store, f"made-up@{first[:8]}"), results(store)
    assert not newest.duplicated(["model", "task", "seed"]).any()
    assert set(newest.experiment_id) == {2} and set(whole.experiment_id) == {1} and len(whole) > len(newest)
    assert len(results(store, "made-up")) == len(newest)


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
