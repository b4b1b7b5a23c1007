"""Listings: the same rows for people and for programs."""

from __future__ import annotations

import json

from hashbench.results.rendering.registry import render
from hashbench.results.rendering.rows import ListedRows, listing
from hashbench.results.tables.numbers import MISSING

COLUMNS = ["model", "size", "seeds", "ratio"]
ROWS: ListedRows = [
    {"model": "a|b", "size": 12_000, "seeds": [0, 1], "ratio": None},
    {"model": "longer", "size": 7, "seeds": [2], "ratio": 0.5},
]


def render_rows(columns: list[str], rows: ListedRows, style: str) -> str:
    return render([listing(columns, rows)], style)


def test_text_is_aligned_with_numbers_to_the_right_and_commas() -> None:
    assert render_rows(COLUMNS, ROWS, "text").splitlines() == [
        "model     size  seeds  ratio",
        "a|b     12,000  0 1",
        "longer       7  2        0.5",
    ]


def test_the_sign_of_a_missing_number_stands_with_the_numbers() -> None:
    rows: ListedRows = [{"n": MISSING}, {"n": 123}]
    assert render_rows(["n"], rows, "text") == "  n\n  –\n123\n"


def test_markdown_escapes_the_bar() -> None:
    assert render_rows(COLUMNS[:2], ROWS, "md").splitlines()[1:3] == ["|---|---|", r"| a\|b | 12,000 |"]


def test_for_programs_a_missing_value_is_empty_or_null() -> None:
    lines = render_rows(COLUMNS, ROWS, "csv").splitlines()
    assert lines == ["model,size,seeds,ratio", "a|b,12000,0 1,", "longer,7,2,0.5"]
    assert json.loads(render_rows(COLUMNS, ROWS, "json")) == ROWS


def test_without_rows_there_are_their_names() -> None:
    assert render_rows(["a", "b"], [], "text") == "a  b\n"


def test_people_see_some_columns_in_words_and_programs_all() -> None:
    table = listing(COLUMNS, ROWS, [{"model": "a", "size": "12K"}, {"model": "b", "size": "7"}])
    assert render([table], "text").splitlines() == ["model  size", "a      12K", "b      7"]
    assert json.loads(render([table], "json")) == ROWS
    assert r"\begin{tabular}{lr}" in render([table], "latex") and "caption{}" in render([table], "latex")


def test_text_that_a_spreadsheet_would_compute_gets_an_apostrophe() -> None:
    cells = ["=cmd()", "+1+1", "-x", "@sum", "plain", "-", "-0.5", -0.5, None, "\t=1"]
    text = render_rows(["name"], [{"name": cell} for cell in cells], "csv")
    wanted = ["name", "'=cmd()", "'+1+1", "'-x", "'@sum", "plain", "-", "-0.5", "-0.5", '""', "'\t=1"]
    assert text.splitlines() == wanted
