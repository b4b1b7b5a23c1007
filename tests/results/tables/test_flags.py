"""Flags behind numbers, in every format with their meaning: not above a trivial baseline, constant, a hollow F1."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.results.papers.paper import Column
from hashbench.results.rendering.page.main import page
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import TRIVIAL, Cell, Row, RowKind, Table, mark_under, marked
from hashbench.store.engine import Store
from hashbench.store.result import Result
from tests.databases.hand_made import HandRun
from tests.databases.hand_made import build as build_by_hand
from tests.results.claims.world import Answers, build

SPLIT = "validation"
SCORE = Column("sst2", "percent", "score", better="high")


@dataclass(frozen=True)
class OneClass(Answers):
    """Says the first class of every example; half of them have it."""

    def result(self) -> Result:
        result = super().result()
        kept = [replace(each, outputs=np.tile([0.7, 0.3], (self.n, 1))) for each in result.predictions]
        return replace(result, predictions=kept)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    runs = [
        Answers("bert-mlm", 0.8), OneClass("bert-sr", 0.5), Answers("hashformer-md-proj", 0.7),
        Answers("hashformer-md-pool", 0.75), Answers("majority", 0.5, None), Answers("bag-of-words", 0.75, None),
    ]  # fmt: skip
    return build(tmp_path_factory.mktemp("signs") / "results.db", runs)


def _table(store: Store, number: str | None = None) -> Table:
    return tables(store, ReportRequest(table=number, paper="hashformers" if number else None))[0]


def _cells(table: Table, column: str) -> dict[str, Cell]:
    return {row.model: row.cells[column] for row in table.rows}


def test_what_is_not_above_the_best_baseline_is_marked(store: Store) -> None:
    cells = _cells(_table(store), "sst2")
    under = {model: cell.under for model, cell in cells.items()}
    assert under == {
        "bert-mlm": "", "bert-sr": "bag-of-words", "hashformer-md-proj": "bag-of-words",
        "hashformer-md-pool": "bag-of-words",  # as good as it is not above it
        "majority": "", "bag-of-words": "",
    }  # fmt: skip


def test_constant_predictions_are_marked(store: Store) -> None:
    assert [model for model, cell in _cells(_table(store), "sst2").items() if cell.constant] == ["bert-sr"]


def test_a_constant_prediction_in_one_seed_of_several_is_marked(tmp_path: Path) -> None:
    runs = [Answers("bert-mlm", 0.8), Answers("bert-mlm", 0.8, 1), OneClass("bert-sr", 0.5, 1), Answers("bert-sr", 0.7)]
    store = build(tmp_path / "r.db", runs)
    assert {model: cell.constant for model, cell in _cells(_table(store), "sst2").items()} == {
        "bert-mlm": False, "bert-sr": True,
    }  # fmt: skip
    assert _cells(_table(store, "2"), "prr_sst2")["bert-sr"].constant
    text = " ".join(render([_table(store)], "text", width=200).split())
    assert "‡: constant predictions in some seed" in text


def test_retention_is_marked_as_its_score_is_and_table_2_has_the_baselines(store: Store) -> None:
    table = _table(store, "2")
    cells = _cells(table, "prr_sst2")
    assert (cells["bert-sr"].under, cells["bert-sr"].constant) == ("bag-of-words", True)
    assert cells["bert-mlm"].under == ""
    assert cells["majority"].value == pytest.approx(62.5) and cells["bag-of-words"].value == pytest.approx(93.75)


def test_baselines_count_in_tables_that_do_not_show_them(store: Store, tmp_path: Path) -> None:
    runs = [Answers("proformer", 0.6, task="atis", split="test"), Answers("majority", 0.7, None, "atis", split="test")]
    table = tables(build(tmp_path / "r.db", runs), ReportRequest(paper="proformer", table="paper"))
    rows = [row for each in table for row in each.rows if row.model == "proformer"]
    cells = [row.cells["atis"] for row in rows if "atis" in row.cells and row.cells["atis"].value is not None]
    assert cells and all(cell.under == "majority" for cell in cells)


@pytest.mark.parametrize("style", ["text", "md", "latex", "html"])
def test_every_format_for_people_has_the_signs_and_what_they_mean(store: Store, style: str) -> None:
    text = page(store) if style == "html" else render([_table(store)], style, width=200)
    sign = "$^{\\dagger}$" if style == "latex" else "†"
    other = "$^{\\ddagger}$" if style == "latex" else "‡"
    assert f"50.0{sign}{other}" in text and f"70.0{sign}" in text and f"80.0{sign}" not in text
    words = " ".join(text.split())  # lines of a terminal are broken anywhere
    assert f"{sign}: not above the best trivial baseline" in words
    assert f"{other}: constant predictions in some seed" in words


def test_formats_for_programs_have_the_signs_with_their_meaning(store: Store) -> None:
    rows = list(csv.DictReader(io.StringIO(render([_table(store)], "csv"))))
    signs = {row["model"]: row["signs"] for row in rows if row["column"] == "sst2"}
    assert signs["bert-sr"] == "† value not above that of bag-of-words; ‡ constant predictions"
    assert signs["bert-mlm"] == ""
    read = json.loads(render([_table(store)], "json"))
    found = {row["model"]: row["signs"] for row in read if row["column"] == "sst2"}
    assert found["hashformer-md-proj"] == "† value not above that of bag-of-words" and found["bert-mlm"] is None


def test_an_average_that_counts_a_hollow_f1_is_marked(tmp_path: Path) -> None:
    def run(model: str, task: str, seed: int | None, **scores: float) -> HandRun:
        own = ("f1" if "f1" in scores else "accuracy", SPLIT)
        by_place = {(name, SPLIT, ""): value for name, value in scores.items()}
        return HandRun(model, task, seed, by_place, kind="floor" if seed is None else "finetune", own=own)

    runs = [
        run("bert-mlm", "qqp", 0, f1=0.5, accuracy=0.7), run("bert-mlm", "rte", 0, accuracy=0.6),
        run("bert-sr", "qqp", 0, f1=0.6, accuracy=0.6), run("bert-sr", "rte", 0, accuracy=0.6),
        run("majority", "qqp", None, f1=0.0, accuracy=0.63), run("majority", "rte", None, accuracy=0.53),
    ]  # fmt: skip
    table = _table(build_by_hand(tmp_path / "r.db", runs))
    assert {model for model, cell in _cells(table, "average").items() if cell.hollow_f1} == {"bert-sr"}
    text = render([table], width=300)
    assert "60.0§" in text and "§: counts the F1 of a task" in text
    assert not any(cell.hollow_f1 for cell in _cells(table, "qqp").values())  # one score speaks for itself


def test_other_data_are_not_compared() -> None:
    def row(model: str, value: float, group: str) -> Row:
        return Row(model, model, {"sst2": Cell(value, group=group)}, "model" if "bert" in model else "floor")

    models = [row("bert-mlm", 50.0, "tiny 32 f0"), row("bert-sr", 50.0, "tiny 32 f1")]
    rows = mark_under(models, [row("majority", 60.0, "tiny  f1")], [SCORE])
    assert [row.cells["sst2"].under for row in rows] == ["", "majority"]
    smaller_is_better = replace(SCORE, better="low")
    assert mark_under(models, [row("majority", 60.0, "tiny  f1")], [smaller_is_better]) == models


def test_a_baseline_that_stands_in_two_rows_counts_with_each() -> None:
    """It has one for each version of the data."""
    model = Row("bert-mlm", "bert-mlm", {"sst2": Cell(50.0, group="tiny 32 f0")}, "model")
    here = Row("majority", "majority", {"sst2": Cell(60.0, group="tiny  f0")}, "floor")
    elsewhere = Row("majority", "majority", {"sst2": Cell(None, group="base  f1")}, "floor")
    for baselines in ([here, elsewhere], [elsewhere, here]):
        assert mark_under([model], baselines, [SCORE])[0].cells["sst2"].under == "majority"


def test_the_best_size_is_marked_and_what_is_under_a_baseline_of_the_same_rows() -> None:
    values = {"bert-mlm": 70.0, "bert-sr": 50.0, "majority": 60.0}
    kinds: dict[str, RowKind] = {"majority": TRIVIAL}
    size = Column("emb_params", "params", "fact", better="low")
    rows = [
        Row(name, name, {"sst2": Cell(value), "emb_params": Cell(value)}, kinds.get(name, "model"))
        for name, value in values.items()
    ]
    found = marked(rows, [SCORE, size])
    cells = {row.model: row.cells["sst2"] for row in found}
    assert [row.model for row in found if row.cells["emb_params"].best] == ["bert-sr"]
    assert {name: cell.under for name, cell in cells.items() if cell.under} == {"bert-sr": "majority"}
