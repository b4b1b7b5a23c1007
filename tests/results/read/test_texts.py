"""How much of its texts a model read: columns on request, a sign with its note, lines under tables, comparisons."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hashbench.common.measured import TEXTS_NOTE, TextCounts, TextsRead
from hashbench.results.claims.report import claim_sections
from hashbench.results.read.comparison import compare
from hashbench.results.read.doubts import counts_on, share_lost, unequal_note
from hashbench.results.read.measured import measure
from hashbench.results.rendering.registry import render
from hashbench.results.tables.comparison import comparison_table
from hashbench.results.tables.numbers import signs_said
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from hashbench.store.result import Result
from tests.results.claims.world import Answers, build, claims_file


def counts(cut: int, lost: int, tokens: int = 4_000) -> TextCounts:
    """Counts of 100 texts with 20,000 characters."""
    return TextCounts(100, cut, tokens, lost // 5, 20_000, lost)


@dataclass(frozen=True)
class Counted(Answers):
    """A run that stored how many of the reported texts it cut, and how many of their characters it lost."""

    cut: int = 0
    lost: int = 0
    cut_of_train: int = 0

    def result(self) -> Result:
        read = TextsRead(64, {"train": counts(self.cut_of_train, 0), self.split: counts(self.cut, self.lost)})
        result = super().result()
        return replace(result, notes={**result.notes, TEXTS_NOTE: read.note()})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    runs = [
        Counted("bert-mlm", 0.8, cut=65, lost=3_920, cut_of_train=20),
        Counted("hashformer-md-proj", 0.75, cut=9, lost=400),
        Counted("hashformer-md-pool", 0.7), Answers("bert-sr", 0.6), Answers("majority", 0.5, None),
    ]  # fmt: skip
    return build(tmp_path_factory.mktemp("texts") / "results.db", runs)


def table_of(store: Store) -> Table:
    return tables(store)[0]


def test_sign_stands_where_more_than_two_percent_of_the_characters_are_lost(store: Store) -> None:
    lost = {row.model: row.cells["sst2"].lost for row in table_of(store).rows}
    assert lost == {
        "bert-mlm": pytest.approx(0.196), "hashformer-md-proj": 0, "hashformer-md-pool": 0, "bert-sr": 0, "majority": 0,
    }  # fmt: skip
    assert {row.model for row in table_of(store).rows if row.cells["average"].lost} == {"bert-mlm"}


@pytest.mark.parametrize(("style", "sign"), [("text", "¶"), ("md", "¶"), ("latex", "$^{\\P}$")])
def test_sign_has_its_note_in_every_format(store: Store, style: str, sign: str) -> None:
    text = " ".join(render([table_of(store)], style, width=300).split())
    assert f"80.0{sign}" in text and f"75.0{sign}" not in text
    assert f"{sign}: over 2 % of the characters were not read" in text.replace("\\%", "%").replace("\\_", "_")


def test_programs_read_the_sign_with_the_share(store: Store) -> None:
    rows = list(csv.DictReader(io.StringIO(render([table_of(store)], "csv"))))
    assert {row["model"]: row["signs"] for row in rows if row["column"] == "sst2"}["bert-mlm"] == (
        "¶ 19.6 % of the characters not read"
    )


def test_lines_below_a_table_say_what_was_read_and_where_train_was_cut_otherwise(store: Store) -> None:
    lines = dict(table_of(store).provenance)
    assert lines["texts read"] == (
        "19.6 % of characters lost, 65 % of texts cut for bert-mlm; 2.0 % of characters lost, 9 % of texts cut "
        "for hashformer-md-proj; read whole for hashformer-md-pool; not counted for bert-sr"
    )
    assert lines["texts cut otherwise than in train"] == (
        "texts are cut in 20 % of train and 65 % of validation for bert-mlm"
    ), "0 and 9 of 100 are too few to tell from chance"


def test_tasks_that_all_models_read_whole_are_named_together(tmp_path: Path) -> None:
    runs = [
        Counted("bert-mlm", 0.8, task=task, cut=cut, lost=cut) for task, cut in (("sst2", 0), ("cola", 0), ("rte", 5))
    ]
    assert dict(table_of(build(tmp_path / "r.db", runs)).provenance)["texts read"] == (
        "read whole on sst2, cola; 0.0 % of characters lost, 5 % of texts cut on rte"
    )


def test_runs_that_were_all_stored_before_are_said_to_be_not_counted(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", [Answers("bert-mlm", 0.8), Answers("bert-sr", 0.7)])
    table = table_of(store)
    lines = dict(table.provenance)
    assert lines["texts read"] == "not counted"
    assert "texts cut otherwise than in train" not in lines
    assert all(not row.cells["sst2"].lost for row in table.rows)
    runs = measure(store).trainings()
    assert counts_on(runs, "validation") == [] and share_lost(runs, "validation") is None


def test_sets_that_are_not_counted_are_named_behind_the_others(tmp_path: Path) -> None:
    runs = [Counted("bert-mlm", 0.8, task="sst2"), *(Answers("bert-mlm", 0.8, task=task) for task in ("cola", "rte"))]
    assert dict(table_of(build(tmp_path / "r.db", runs)).provenance)["texts read"] == (
        "read whole on sst2; not counted on cola, rte"
    )


def test_a_seed_that_was_counted_does_not_speak_for_one_that_was_not(tmp_path: Path) -> None:
    first, second = Counted("bert-mlm", 0.8), Answers("bert-mlm", 0.7, 1)
    table = table_of(build(tmp_path / "r.db", [first, second]))
    assert dict(table.provenance)["texts read"] == "read whole and 1 of 2 runs not counted"
    both = build(tmp_path / "both.db", [first, second, Counted("bert-sr", 0.8), Counted("bert-sr", 0.7, 1)])
    table = comparison_table(compare([both], "bert-mlm", "bert-sr", draws=20))
    assert dict(table.provenance)["texts read"] == "not counted for A"


def test_average_names_the_task_whose_texts_were_cut_most(tmp_path: Path) -> None:
    runs = [Counted("bert-mlm", 0.8, task="sst2", cut=65, lost=3_920), Answers("bert-mlm", 0.8, task="cola")]
    (row,) = table_of(build(tmp_path / "r.db", runs)).rows
    assert signs_said(row.cells["average"]) == "¶ up to 19.6 % of the characters not read (sst2)"


def test_comparison_says_that_its_sides_did_not_read_the_same_share(store: Store) -> None:
    table = comparison_table(compare([store], "bert-mlm", "hashformer-md-proj", draws=20))
    assert table.warnings[-1] == (
        "not the same share of the texts was read on sst2: A lost 19.6 % of the characters, B 2.0 %"
    )
    assert table.rows[0].cells["a"].lost == pytest.approx(0.196)
    for other in ("hashformer-md-pool", "bert-sr"):  # two points, and not counted
        table = comparison_table(compare([store], "hashformer-md-proj", other, draws=20))
        assert not any("not the same share" in line for line in table.warnings)
    assert dict(table.provenance)["texts read"] == "not counted for B"


def test_claim_says_that_its_models_did_not_read_the_same_share(store: Store, tmp_path: Path) -> None:
    rows = [
        {"id": "unequal", "kind": "greater", "left": "hashformer-md-proj", "right": "bert-mlm", "column": "sst2"},
        {"id": "equal", "kind": "greater", "left": "hashformer-md-proj", "right": "hashformer-md-pool"},
    ]
    file = claims_file(tmp_path, [row | {"unit": "percent", "column": "sst2"} for row in rows])
    request = ReportRequest(claims_file=file, one_seed=True)
    marks = {
        one.claim.id: [mark for part in one.parts for mark in part.marks if "same share" in mark]
        for section in claim_sections(store, request)
        for one in section.decided
        if one.claim.id in ("unequal", "equal")
    }
    said = "hashformer-md-proj lost 2.0 % of the characters, bert-mlm 19.6 %"
    assert marks == {"unequal": [f"not the same share of the texts was read on sst2: {said}"], "equal": []}


def test_two_sides_that_differ_by_more_than_two_points() -> None:
    assert unequal_note(("A", 0.0), ("B", 0.02), "sst2") == ""
    assert unequal_note(("A", None), ("B", 0.5), "sst2") == "", "not counted"
    assert "A lost 0.0 % of the characters, B 2.1 %" in unequal_note(("A", 0.0), ("B", 0.021), "sst2")
