"""The group of the best in tables: who is compared, what is printed, in every format; ranks; shares of averages."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.results.read.evidence import NO_PREDICTIONS, OTHER_EXAMPLES
from hashbench.results.rendering.page.main import page
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Table
from hashbench.store.engine import Store
from tests.results.claims.world import Answers, build

SEEDS = (0, 1, 2)
SHARES = {"bert-mlm": 0.9, "bert-sr": 0.89, "hashformer-md-proj": 0.6, "hashformer-md-pool": 0.62}


def _answers(**changes: object) -> list[Answers]:
    runs = [Answers(model, share, seed) for model, share in SHARES.items() for seed in SEEDS]
    return [replace(run, **changes) for run in runs]  # type: ignore[arg-type]


def _table(store: Store, **request: object) -> Table:
    return tables(store, ReportRequest(**request))[0]  # type: ignore[arg-type]


def _cells(table: Table, column: str = "sst2") -> dict[str, Cell]:
    return {row.model: row.cells[column] for row in table.rows}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("ranking") / "r.db", [*_answers(), Answers("majority", 0.5, None)])


def test_the_models_that_are_not_separable_from_the_best_are_marked(store: Store) -> None:
    ratings = {model: cell.rating for model, cell in _cells(_table(store)).items()}
    assert ratings == {
        "bert-mlm": "best", "bert-sr": "best", "hashformer-md-proj": "below", "hashformer-md-pool": "below",
        "majority": "",
    }  # fmt: skip
    assert [model for model, cell in _cells(_table(store)).items() if cell.best] == ["bert-mlm", "bert-sr"]


def test_pairs_have_the_means_of_the_cells_in_percent(store: Store) -> None:
    table = _table(store)
    rows = {(row.title, row.settings): row for row in table.rows}
    for pairs in table.pairs:
        assert len(pairs.rows) == len(SHARES)
        assert list(pairs.means) == pytest.approx([rows[key].cells[pairs.column].value for key in pairs.rows])
    assert "sst2" in {pairs.column for pairs in table.pairs}


@pytest.mark.parametrize(
    ("style", "mark", "other"),
    [("text", "*90.0", "*62.0"), ("md", "**90.0**", "**62.0"), ("latex", r"\textbf{90.0}", r"\textbf{62.0}")],
)
def test_every_format_for_people_marks_the_group(store: Store, style: str, mark: str, other: str) -> None:
    text = render([_table(store)], style, width=200)
    assert mark in text and mark.replace("90.0", "89.0") in text and other not in text
    assert "not separable from the best model" in " ".join(text.split())


def test_the_page_marks_the_group(store: Store) -> None:
    html = page(store)
    assert '<span class="v best">90.0</span>' in html and '<span class="v best">89.0</span>' in html


def test_formats_for_programs_have_the_standing(store: Store) -> None:
    expected = {"bert-mlm": "best", "bert-sr": "best", "hashformer-md-proj": "below", "hashformer-md-pool": "below"}
    for rows in (
        csv.DictReader(io.StringIO(render([_table(store)], "csv"))), json.loads(render([_table(store)], "json")),
    ):  # fmt: skip
        found = {row["model"]: row["rating"] for row in rows if row["column"] == "sst2" and row["rating"]}
        assert found == expected


def test_with_one_seed_there_is_no_group_and_the_reason_is_printed(tmp_path: Path) -> None:
    table = _table(build(tmp_path / "r.db", [run for run in _answers() if run.seed == 0]))
    assert not any(cell.best for cell in _cells(table).values())
    assert any(note.startswith("No group of the best, fewer than two seeds: ") for note in table.notes)


def test_a_model_with_one_seed_is_not_compared_with_models_of_three(tmp_path: Path) -> None:
    runs = [run for run in _answers() if run.model != "bert-mlm" or run.seed == 0]
    table = _table(build(tmp_path / "r.db", runs))
    cells = _cells(table)
    assert cells["bert-mlm"].rating == "not compared: fewer than two seeds" and cells["bert-sr"].best
    assert any(note.startswith("Not compared, fewer than two seeds: bert-mlm (") for note in table.notes)


def test_seeds_that_a_third_model_lacks_count(tmp_path: Path) -> None:
    """Two models are compared on the seeds that both have, whatever others have."""
    runs = [run for run in _answers() if run.model != "hashformer-md-pool" or run.seed != 0]
    runs.append(Answers("hashformer-md-pool", 0.6, 9))
    assert [model for model, cell in _cells(_table(build(tmp_path / "r.db", runs))).items() if cell.best] == [
        "bert-mlm", "bert-sr",
    ]  # fmt: skip


def test_a_column_has_one_group_among_the_models_of_its_most_frequent_precision(tmp_path: Path) -> None:
    runs = [replace(run, precision="bf16") if run.model == "bert-mlm" else run for run in _answers()]
    table = _table(build(tmp_path / "r.db", runs))
    cells = _cells(table)
    assert cells["bert-mlm"].rating == "not compared: precision bf16, most have 32" and not cells["bert-mlm"].best
    assert [model for model, cell in cells.items() if cell.best] == ["bert-sr"]


def test_without_predictions_there_is_no_group(tmp_path: Path) -> None:
    table = _table(build(tmp_path / "r.db", _answers(stored=False)))
    assert not any(cell.best for cell in _cells(table).values())
    assert any(note.startswith("No group of the best, no stored predictions: ") for note in table.notes)


def test_a_model_on_other_examples_is_not_compared(tmp_path: Path) -> None:
    runs = [replace(run, n=300) if run.model == "bert-mlm" else run for run in _answers()]
    assert _cells(_table(build(tmp_path / "r.db", runs)))["bert-mlm"].rating == "not compared: other examples"


def test_ranks_have_intervals_in_the_place_of_scores(store: Store) -> None:
    table = _table(store, ranks=True)
    assert {column.name for column in table.columns} == {"sst2", "average"}
    cells = _cells(table)
    assert (cells["bert-mlm"].value, cells["bert-mlm"].interval) == (1, (1, 2))
    assert (cells["hashformer-md-proj"].value, cells["hashformer-md-proj"].interval) == (4, (3, 4))
    assert "majority" not in cells
    text = render([table], "text", width=200)
    assert "*1" in text and "3..4" in text and "95 % interval, of all models of a column at once" in text
    rows = list(csv.DictReader(io.StringIO(render([table], "csv"))))
    ends = next(row for row in rows if (row["model"], row["column"]) == ("bert-mlm", "sst2_interval"))
    assert (float(ends["value"]), float(ends["value_high"])) == (1, 2)


def test_an_average_prints_what_each_task_brings(tmp_path: Path) -> None:
    runs = _answers()
    runs += [Answers(model, 0.8 + 0.001 * place, seed, "rte") for place, model in enumerate(SHARES) for seed in SEEDS]
    table = _table(build(tmp_path / "r.db", runs))
    line = next(note for note in table.details if note.startswith("Average: shares of the tasks"))
    assert "sst2 100 %, rte 0 %" in line or "sst2 101 %, rte -1 %" in line
    assert _cells(table, "average")["bert-mlm"].best and not _cells(table, "average")["hashformer-md-proj"].best


def test_retention_has_the_group_of_its_scores(store: Store) -> None:
    cells = _cells(_table(store, table="2", paper="hashformers"), "prr_sst2")
    assert [model for model, cell in cells.items() if cell.best] == ["bert-mlm", "bert-sr"]


def test_the_reason_that_a_model_is_not_compared_is_the_true_one(tmp_path: Path) -> None:
    runs = [Answers(model, 0.8, seed) for model in ("a", "b") for seed in (0, 1, 2)]
    runs += [Answers("mixed", 0.7, seed, n=400 + 2 * seed) for seed in (0, 1, 2)]
    runs += [Answers("bare", 0.7, seed, stored=False) for seed in (0, 1, 2)]
    (table,) = tables(build(tmp_path / "r.db", runs), ReportRequest())
    ratings = {row.title: row.cells["sst2"].rating for row in table.rows}
    assert OTHER_EXAMPLES in ratings["mixed"] and NO_PREDICTIONS in ratings["bare"]
