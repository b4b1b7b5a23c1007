"""Tables of hidden items, of a database filled by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from tests.databases.hand_made import HandRun
from tests.databases.hand_made import build as build_by_hand

OWN = ("rec@1", "test")
SCORES = {("rec@1", "test", ""): 0.5, ("mrr", "test", ""): 0.6, ("rec@20", "test", "beam=1"): 0.4}
BY_DECILE = {("rec@1", "test", "tenth=1"): 0.9, ("rec@1", "test", "tenth=2"): 0.1}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Two seeds of a model and a trivial baseline on one page-link set."""
    runs = [
        HandRun("superbloom", "links", seed, {**SCORES, **BY_DECILE, ("rec@1", "test", ""): score}, own=OWN)
        for seed, score in enumerate((0.5, 0.7))
    ]
    runs.append(HandRun("popularity", "links", None, {("rec@1", "test", ""): 0.1}, kind="floor", own=OWN))
    return tables(build_by_hand(tmp_path_factory.mktemp("links") / "results.db", runs))


def test_the_main_table_comes_first_then_one_by_beam_and_one_by_frequency(found: list[Table]) -> None:
    assert [table.title for table in found] == [
        f"Experiment {found[0].experiment}: links",
        "rec@20 on links by beam width",
        "rec@1 on links by decile of the cases by frequency",
    ]


def test_they_stand_beside_no_published_numbers(found: list[Table]) -> None:
    assert not any(table.published for table in found)


def test_its_notes_explain_its_columns(found: list[Table]) -> None:
    notes = " ".join(found[0].notes)
    assert all(f"{title}: " in notes for title in ("token rec@1", "ceiling", "certified"))


def test_a_score_is_the_mean_over_seeds_in_percent(found: list[Table]) -> None:
    cells = {row.model: row.cells["rec@1"] for row in found[0].rows}
    assert (cells["superbloom"].value, cells["superbloom"].n) == (pytest.approx(60.0), 2)
    assert (cells["popularity"].value, cells["popularity"].n) == (pytest.approx(10.0), None)


def test_conditions_are_columns_of_the_models_that_have_them(found: list[Table]) -> None:
    by_beam, by_decile = found[1:]
    assert [row.model for row in by_beam.rows] == ["superbloom"]
    assert by_beam.rows[0].cells["beam=1"].value == pytest.approx(40.0)
    cells = by_decile.rows[0].cells
    assert (cells["tenth=1"].value, cells["tenth=2"].value) == (pytest.approx(90.0), pytest.approx(10.0))
    assert cells["tenth=3"].value is None


def test_they_go_by_name_too(tmp_path: Path) -> None:
    store = build_by_hand(tmp_path / "r.db", [HandRun("superbloom", "links", 0, SCORES, own=OWN)])
    by_name = tables(store, ReportRequest(table="links"))
    assert [table.title for table in by_name] == [table.title for table in tables(store)]
    assert tables(store, ReportRequest(table="own"))[0].columns[0].name == "links"
