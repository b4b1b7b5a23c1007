"""Listings: the same rows for people and for programs."""

from __future__ import annotations

import json

from hashbench.results.rendering.rows import LINE, ListedRows, fitted_text, render_rows
from hashbench.results.tables.numbers import MISSING

COLUMNS = ["model", "size", "seeds", "ratio"]
ROWS: ListedRows = [
    {"model": "a|b", "size": 12_000, "seeds": [0, 1], "ratio": None},
    {"model": "longer", "size": 7, "seeds": [2], "ratio": 0.5},
]


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
    assert render_rows(COLUMNS[:2], ROWS, "md").splitlines()[1:3] == ["|---|---|", r"| a\|b | 12000 |"]


def test_for_programs_a_missing_value_is_empty_or_null() -> None:
    lines = render_rows(COLUMNS, ROWS, "csv").splitlines()
    assert lines == ["model,size,seeds,ratio", "a|b,12000,0 1,", "longer,7,2,0.5"]
    assert json.loads(render_rows(COLUMNS, ROWS, "json")) == ROWS


def test_without_rows_there_are_their_names() -> None:
    assert render_rows(["a", "b"], [], "text") == "a  b\n"


def test_sentences_around_rows_are_wrapped_at_the_width_but_are_never_long() -> None:
    sentence = "word " * 60
    narrow, wide = (
        fitted_text(COLUMNS, ROWS, width, n_names=1, above=[sentence], below=["", "end"]).splitlines()
        for width in (20, 1_000)
    )
    assert max(map(len, narrow)) <= 20 and narrow[-2:] == ["", "end"]
    assert 100 < max(map(len, wide)) <= LINE and "longer       7  2        0.5" in wide


def test_text_that_a_spreadsheet_would_compute_gets_an_apostrophe() -> None:
    cells = ["=cmd()", "+1+1", "-x", "@sum", "plain", "-", "-0.5", -0.5, None, "\t=1"]
    text = render_rows(["name"], [{"name": cell} for cell in cells], "csv")
    wanted = ["name", "'=cmd()", "'+1+1", "'-x", "'@sum", "plain", "-", "-0.5", "-0.5", '""', "'\t=1"]
    assert text.splitlines() == wanted
