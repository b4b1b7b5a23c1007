"""Machine formats, markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest

from hashbench.papers.column import Column, PublishedNumber
from hashbench.rendering.render import TIDY, render
from hashbench.rendering.report import report
from hashbench.store.engine import Store
from hashbench.tables.request import ReportRequest
from hashbench.tables.table import Cell, Row, Table

TABLE = Table(
    paper="p",
    number="1",
    title="A & B_C",
    experiment="e",
    columns=(Column("cola", "percent", "score", "CoLA", better="high"),),
    rows=(
        Row("m", "m", {"cola": Cell(54.25, std=0.44, n=3, published=PublishedNumber(54.5), best=True)}, encoder="tiny"),
        Row("q", "q", {"cola": Cell(reason="failed", published=PublishedNumber(55.6), marks=(1,))}, encoder="tiny"),
    ),
    warnings=("BUILT-IN DATA: 100 % generated",),
    footnotes=("As printed.",),
    missing=("failed: q (cola)",),
    provenance=(("data", "made_up"),),
)


def _rows(store: Store, **fields: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(report(store, ReportRequest(**fields), format="csv"))))


def test_tidy_rows_have_the_agreed_columns_names_and_units(small_store: Store) -> None:
    rows = _rows(small_store, table="1")
    assert tuple(rows[0]) == TIDY
    row = next(row for row in rows if (row["model"], row["column"]) == ("bert-mlm", "cola"))
    assert (row["paper"], row["table"], row["unit"], row["n"]) == ("hashformers", "1", "percent", "3")
    assert (float(row["value"]), float(row["std"])) == (pytest.approx(54.5), pytest.approx(0.4))
    assert (row["published"], row["experiment"], row["encoder"]) == ("54.5", "made-up", "tiny")


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
    rows = json.loads(report(small_store, ReportRequest(table="1"), format="json"))
    assert [row["column"] for row in rows] == [row["column"] for row in _rows(small_store, table="1")]
    assert rows[0]["value"] is None or isinstance(rows[0]["value"], float)


def test_markdown_has_as_many_cells_in_every_line(small_store: Store) -> None:
    text = report(small_store, ReportRequest(table="1"), format="md")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {11}


def test_markdown_shows_all_parts_of_a_cell() -> None:
    text = render([TABLE], "md")
    assert r"| m | **54.2** ±0.4 (3) \[54.5\] |" in text
    assert r"| q | – \[55.6\]¹ |" in text
    assert "> **BUILT-IN DATA: 100 % generated**" in text
    assert "¹ As printed." in text and "Missing: failed: q (cola)." in text and r"- **data**: made\_up" in text


def test_latex_is_escaped_and_complete() -> None:
    text = render([TABLE], "latex")
    assert r"m & \textbf{54.2} {\scriptsize $\pm$0.4 (3)} {\scriptsize [54.5]} \\" in text
    assert r"q & -- {\scriptsize [55.6]$^{1}$} \\" in text
    assert r"\textbf{BUILT-IN DATA: 100 \% generated}" in text and r"A \& B\_C." in text
    assert text.count("{") == text.count("}")
    assert re.search(r"(?<!\\)[%&_#](?=[A-Za-z0-9])", re.sub(r"(?m)^%.*$", "", text).replace(" & ", " ")) is None
