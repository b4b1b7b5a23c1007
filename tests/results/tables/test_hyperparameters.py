"""Tables 4 and 5 of the HashFormers paper: its hyper-parameters beside those of an experiment, differences marked."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from hashbench.results.papers.paper import load_paper
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(models=("bert-mlm", "hashformer-md-proj"), tasks=("cola", "rte"), seeds=(0, 1), steps=1_000)
    return build(tmp_path_factory.mktemp("hyper") / "results.db", world)


def _values(table: Table) -> dict[str, tuple[str, str]]:
    return {row.title: (row.cells["published"].text, row.cells["value"].text) for row in table.rows}


def test_pretraining_with_what_differs_marked(store: Store) -> None:
    (table,) = tables(store, ReportRequest(paper="hashformers", table="4"))
    values = _values(table)
    assert values["Maximum steps"] == ("500,000 (section 4.2)", "1,000 ≠")
    assert values["Learning rate schedule"] == ("linear", "linear")
    assert values["Dropout"] == ("0.1", "0.1")
    assert table.notes[0] == "≠: not the paper's value."
    text = render([table], "text")
    assert "hyper-parameter" in text and "missing" not in text


def test_the_learning_rate_of_the_paper_is_that_of_the_objective(store: Store) -> None:
    paper = load_paper("hashformers")
    (row,) = [row for row in paper.hyperparameters["4"].rows if row.title == "Peak learning rate"]
    assert paper.value_of(row) == {"mlm": 1e-4, "shuffle_random": 5e-5}
    (table,) = tables(store, ReportRequest(paper="hashformers", table="4"))
    assert _values(table)["Peak learning rate"][1].count("≠") == 0


def test_every_row_of_a_recipe_has_the_papers_value() -> None:
    paper = load_paper("hashformers")
    for layout in paper.hyperparameters.values():
        assert [row.title for row in layout.rows if paper.value_of(row) is None] == []


def test_rows_for_programs(store: Store) -> None:
    printed = render(tables(store, ReportRequest(paper="hashformers", table="5")), "csv")
    rows = {row["hyperparameter"]: row for row in csv.DictReader(io.StringIO(printed))}
    assert (rows["Adam epsilon"]["published"], rows["Adam epsilon"]["value"]) == ("1e-06", "1e-06")
    assert {row["differs"] for row in rows.values()} <= {"true", "false"}
    assert "≠" not in printed
    for number in ("4", "5"):
        (table,) = tables(store, ReportRequest(paper="hashformers", table=number))
        differs = {record["hyperparameter"]: record["differs"] for record in table.records}
        assert differs == {title: "≠" in value for title, (_, value) in _values(table).items()}


def test_without_published_values_the_experiments_alone(store: Store) -> None:
    (table,) = tables(store, ReportRequest(paper="hashformers", table="5", published=False))
    assert [column.name for column in table.columns] == ["value"]


def test_an_experiment_with_the_name_of_a_paper_comes_first(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), name="hashformers")
    (table,) = tables(build(tmp_path / "results.db", world), ReportRequest("hashformers"))
    assert (table.paper, table.experiment) == ("", "hashformers")


def test_a_default_of_another_encoder_is_not_taken_for_the_papers(tmp_path: Path) -> None:
    world = World(models=("bert-mlm", "hashformer-md-proj"), tasks=("cola",), seeds=(0,))
    store = build(tmp_path / "results.db", world)
    with store.write() as connection:
        connection.exec_driver_sql("""UPDATE run SET spec = replace(spec, '"kind":"bert"', '"kind":"perceptron"')""")
    (table,) = tables(store, ReportRequest(paper="hashformers", table="5"))
    assert _values(table)["Dropout"] == ("0.1", "not stored")
