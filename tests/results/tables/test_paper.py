"""The paper's tables recomputed from its own Table 1 and exact counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.papers.paper import load_paper
from hashbench.results.tables.paper import _mean_cell, printed_counts
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

PAPER = load_paper("hashformers")


@pytest.fixture(scope="module")
def filled(paper_store: Store) -> dict[str, Table]:
    return {table.number: table for table in tables(paper_store, ReportRequest(table="1,2,3,6"))}


def _row(table: Table, model: str) -> Row:
    return next(row for row in table.rows if row.model == model)


def test_the_prr_cells_of_table_2_follow_from_table_1(filled: dict[str, Table]) -> None:
    compared = 0
    for row in filled["2"].rows:
        for name, cell in row.cells.items():
            if name.startswith("prr_") and cell.value is not None and cell.published is not None:
                # the averages come from unrounded means here, from printed ones in the paper
                assert cell.value == pytest.approx(cell.published.value, abs=0.101), (row.model, name)
                compared += 1
    assert compared == 90  # ten models, eight tasks and the average; CANINE and ProFormer are not in the experiment


def test_counts_print_as_published_but_for_the_footnoted_cells(filled: dict[str, Table]) -> None:
    different = set()
    for row in filled["2"].rows:
        for name in ("total_params", "emb_params", "pcr_all", "pcr_emb", "poep"):
            cell = row.cells[name]
            if cell.value is not None and cell.published is not None:
                assert cell.unit == cell.published.unit
                if round(cell.value, 1) != cell.published.value:
                    different.add((row.model, name))
    footnoted = {cell for note in PAPER.footnotes if note.text.startswith("797,184") for cell in note.cells}
    assert different == footnoted and len(footnoted) == 4


def test_a_range_over_tasks_has_two_ends(filled: dict[str, Table]) -> None:
    cell = _row(filled["3"], "hashformer-lsh-proj").cells["infer_ms"]
    assert (cell.value, cell.value_high) == (2.0, 4.6)
    speedup = _row(filled["3"], "hashformer-lsh-proj").cells["infer_speedup"]
    assert (speedup.value, speedup.value_high) == (pytest.approx(1.0), pytest.approx(2.3))


def test_a_family_is_one_row_above_its_models_and_alone_has_the_published_value(filled: dict[str, Table]) -> None:
    titles = [row.title for row in filled["3"].rows]
    at = titles.index("hashformer-proj")
    assert titles[at : at + 3] == ["hashformer-proj", "  hashformer-md-proj", "  hashformer-lsh-proj"]
    published = _row(filled["3"], "hashformer-proj").cells["pt_ms"].published
    assert published is not None and published.value == 10.6
    assert _row(filled["3"], "hashformer-md-proj").cells["pt_ms"].published is None
    assert _row(filled["3"], "hashformer-proj").cells["pt_ms"].value == pytest.approx(11.6)


def test_footnotes_mark_their_cells(filled: dict[str, Table]) -> None:
    cell = _row(filled["2"], "canine-c").cells["pcr_emb"]
    assert [filled["2"].footnotes[mark - 1] for mark in cell.marks] == [
        "Follows from the rounded 12.3M / 38.6M; with 12,288,000 / 38,603,520 it is 68.2."
    ]


def test_a_number_stands_before_no_note_that_marks_no_cell(filled: dict[str, Table]) -> None:
    for table in filled.values():
        used = {mark for row in table.rows for cell in row.cells.values() for mark in cell.marks}
        assert used == set(range(1, len(table.footnotes) + 1))
    assert any(note.startswith("Section 5.2 of the paper speaks of PRR drops") for note in filled["2"].notes)


def test_models_that_were_not_run_stay_with_their_published_values_or_leave(paper_store: Store) -> None:
    with_published = tables(paper_store, ReportRequest(table="1"))[0]
    assert _row(with_published, "canine-c").cells["cola"].value is None
    assert "not in this experiment: canine-c, proformer-glue" in with_published.missing
    without = tables(paper_store, ReportRequest(table="1", published=False))[0]
    assert "canine-c" not in [row.model for row in without.rows]
    assert without.footnotes == ()


def test_floors_are_rows_of_every_table_of_scores(filled: dict[str, Table]) -> None:
    for number in ("1", "6"):
        floors = [row for row in filled[number].rows if row.kind == "floor"]
        assert [row.model for row in floors] == ["majority", "bag-of-words"]
        assert floors[1].cells["average"].value == pytest.approx(71.0)
        assert floors[1].cells["cola"].n is None  # no seed


def test_a_users_own_model_follows_the_papers(tmp_path: Path) -> None:
    world = World(models=("bert-mlm", "proj-256"), tasks=("cola",), seeds=(0,))
    found = tables(build(tmp_path / "results.db", world), ReportRequest(table="1,2"))
    assert len(found) == 2
    for table in found:
        row = _row(table, "proj-256")
        assert row.section == "Also in this experiment"
        assert all(cell.published is None for cell in row.cells.values())


def test_runs_on_other_data_do_not_share_a_cell(tmp_path: Path) -> None:
    world = World(
        models=("bert-mlm",),
        tasks=("cola",),
        seeds=(0, 1, 2),
        efficiency=False,
        data={("bert-mlm", "cola", 2): "0ther-data"},
    )
    store = build(tmp_path / "results.db", world)
    rows = [row for row in tables(store, ReportRequest(table="1"))[0].rows if row.model == "bert-mlm"]
    assert [(row.settings, row.cells["cola"].n) for row in rows] == [("data data-col", 2), ("data 0ther-da", 1)]
    assert rows[0].cells["cola"].group != rows[1].cells["cola"].group
    ratio = _row(tables(store, ReportRequest(table="2"))[0], "bert-mlm").cells["prr_cola"]
    assert (ratio.value, ratio.reason) == (None, "settings differ between runs of one model, or no baseline")


def test_precision_as_found_sets_rows_apart_where_a_task_has_several(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("cola", "sst2"), notes={"sst2/2": {"precision_found": "bf16"}})
    rows = [row for row in tables(build(tmp_path / "results.db", world))[0].rows if row.kind == "model"]
    assert [(row.settings, row.cells["cola"].n, row.cells["sst2"].n) for row in rows] == [
        ("precision 32", 3, 2),
        ("precision bf16", None, 1),
    ]


def test_tasks_of_one_row_may_have_precisions_of_their_own(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("cola", "sst2"), notes={"sst2": {"precision_found": "bf16"}})
    table = tables(build(tmp_path / "results.db", world))[0]
    (row,) = [row for row in table.rows if row.kind == "model"]
    assert (row.settings, row.cells["cola"].n, row.cells["sst2"].n) == ("", 3, 3)
    assert ("32" in row.cells["cola"].group, "bf16" in row.cells["sst2"].group) == (True, True)
    assert "precision 32 on cola; precision bf16 on sst2" in dict(table.provenance)["fine-tuning"]


def test_published_counts_of_superbloom_are_binary() -> None:
    assert printed_counts("superbloom", "superbloom-baseline")["published_total"] == 248 * 2**20
    assert printed_counts("superbloom", "superbloom-sampled-softmax")["published_total"] == round(2.6 * 2**30)
    assert printed_counts("proformer", "proformer")["published_total"] == 14_400_000
    assert printed_counts("eelbert", "eelbert-base")["published_total"] is None
    assert printed_counts("", "bert-mlm") == {"published_total": None, "published_emb": None}


def test_a_mean_over_a_family_has_no_interval_of_one_member() -> None:
    cells = [Cell(2.0, interval=(1.9, 2.1)), Cell(4.0, interval=(3.9, 4.1)), Cell(reason="not measured")]
    assert _mean_cell(cells) == Cell(3.0)
    assert _mean_cell(cells[:1]) == cells[0]


def test_the_mean_of_a_family_is_in_one_unit() -> None:
    mean = _mean_cell([Cell(1.5, unit="M"), Cell(500.0, unit="K")])
    assert (mean.value, mean.unit) == (1.0, "M")
