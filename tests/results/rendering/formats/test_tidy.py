"""Rows for programs: names, units, and what they leave out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from hashbench.results.rendering.formats.tidy import TIDY, tidy
from hashbench.results.rendering.registry import render
from hashbench.results.rendering.rows import csv_text
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from tests.results.claims.world import Answers, build


def _rows(store: Store, **fields: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(tables(store, ReportRequest(**fields)), "csv"))))


def test_tidy_rows_have_the_agreed_columns_names_and_units(small_store: Store) -> None:
    rows = _rows(small_store, table="1")
    assert tuple(rows[0]) == TIDY
    row = next(row for row in rows if (row["model"], row["column"]) == ("bert-mlm", "cola"))
    assert (row["paper"], row["table"], row["unit"], row["n"]) == ("hashformers", "1", "percent", "3")
    assert (float(row["value"]), float(row["std"])) == (pytest.approx(54.5), pytest.approx(0.4))
    assert (row["published"], row["experiment"], row["encoder"]) == ("54.5", "made-up", "tiny")


def test_a_compared_cell_says_below_which_differences_are_noise(tmp_path: Path) -> None:
    runs = [Answers(model, right, seed) for seed in range(3) for model, right in (("a", 0.9), ("b", 0.7))]
    (own,) = tables(build(tmp_path / "r.db", [*runs, Answers("majority", 0.5, None)]), ReportRequest())
    noise = {row["model"]: row["noise"] for row in tidy([own]) if row["column"] == "sst2"}
    assert noise == {"a": own.pairs[0].noise(), "b": own.pairs[0].noise(), "majority": None}


def test_a_missing_cell_is_a_row_without_a_value(small_store: Store) -> None:
    row = next(r for r in _rows(small_store) if (r["model"], r["column"]) == ("hashformer-md-emb-50k", "subj"))
    assert (row["value"], row["std"], row["n"]) == ("", "", "")


def test_counts_are_in_the_published_unit_and_ranges_have_two_ends(paper_store: Store) -> None:
    found = {(row["model"], row["column"]): row for row in _rows(paper_store, table="2,3")}
    count = found["hashformer-lsh-proj", "emb_params"]
    assert (float(count["value"]), count["unit"], count["published"]) == (99.072, "K", "99.1")
    time = found["hashformer-proj", "infer_ms"]
    assert (float(time["value"]), float(time["value_high"]), time["unit"]) == (2.0, 4.6, "ms/sample")


def test_without_published_nothing_published_is_left(small_store: Store) -> None:
    rows = _rows(small_store, table="1", published=False)
    assert rows and all(row["published"] == "" for row in rows)
    assert "canine-c" not in {row["model"] for row in rows}


def test_json_holds_the_rows_of_the_csv(small_store: Store) -> None:
    rows = json.loads(render(tables(small_store, ReportRequest(table="1")), "json"))
    assert [row["column"] for row in rows] == [row["column"] for row in _rows(small_store, table="1")]
    assert rows[0]["value"] is None or isinstance(rows[0]["value"], float)


def test_a_table_may_have_rows_of_its_own() -> None:
    """Its rows under their own names; in JSON the one object that stands for it, where it has one."""
    table = Table("", "own", "", "e", (), (), records=({"a": 1, "b": None}, {"a": [2, 3]}))
    assert render([table], "csv") == "a,b\n1,\n2 3,\n"
    assert json.loads(render([table], "json")) == [{"a": 1, "b": None}, {"a": [2, 3]}]
    whole = Table("", "own", "", "e", (), (), document={"rows": [1]})
    assert json.loads(render([whole, table], "json"))[0] == {"rows": [1]}


def test_a_listing_without_rows_has_its_names() -> None:
    assert csv_text(["a", "b"], []) == "a,b\n"
