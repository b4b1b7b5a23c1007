"""The terminal's form: nothing is cut off at any width, and what is loud stands above and below."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hashbench.results.claims.table import claim_tables
from hashbench.results.rendering.formats.terminal import NARROWEST
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("table", [None, "1", "2", "3", "6"])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_cut(small_store: Store, table: str | None) -> None:
    made = tables(small_store, ReportRequest(table=table))
    texts = {width: render(made, width=width) for width in (60, 80, 100, 120, 160, 300)}
    assert [width for width, text in texts.items() if max(map(len, text.splitlines())) > width] == []
    assert [width for width, text in texts.items() if "…" in text] == []


@pytest.fixture(scope="module")
def claims(small_store: Store) -> list[Table]:
    return claim_tables(small_store)


@pytest.mark.e2e
@pytest.mark.parametrize("width", [60, 80, 200])
def test_headings_of_claims_are_no_wider_than_the_terminal(claims: list[Table], width: int) -> None:
    assert any(len(each) > 80 for table in claims for each in (table.title, *(row.section for row in table.rows)))
    assert max(map(len, render(claims, width=width).splitlines())) <= width


def test_the_same_numbers_stand_at_every_width(small_store: Store) -> None:
    wide, narrow = (render(tables(small_store, ReportRequest(table="1")), width=width) for width in (300, 60))
    for number in ("54.5", "±0.4", "(2/3)", "[79.1±0.3]", "*92.0"):
        assert number in wide and number in narrow


def test_a_hopelessly_narrow_terminal_still_gets_a_table(small_store: Store) -> None:
    text = render(tables(small_store), width=5)
    assert max(len(line) for line in text.splitlines()) <= NARROWEST
    assert "54.5" in text


def test_a_long_heading_moves_no_column(small_store: Store) -> None:
    short, more = tables(small_store)[0], " of any length" * 4
    long = replace(short, rows=tuple(replace(row, section=row.section + more) for row in short.rows))
    plain, headed = (render([table], width=120).splitlines() for table in (short, long))
    differing = [(one, other) for one, other in zip(plain, headed, strict=True) if one != other]
    assert differing and all(other == one + more for one, other in differing)


def test_loud_lines_stand_above_and_below(small_store: Store) -> None:
    lines = render(tables(small_store, ReportRequest(table="1")), width=200).splitlines()
    loud = [
        index
        for index, line in enumerate(lines)
        if line.startswith("!! SAMPLED DATA: sst2 (train 1,000 of 67,349 rows)")
    ]
    first, last = (next(i for i in order if lines[i].startswith(word)) for order, word in (
        (range(len(lines)), "bert-mlm"), (range(len(lines) - 1, -1, -1), "bag-of-words"),
    ))  # fmt: skip
    assert len(loud) == 2 and loud[0] < first < last < loud[1]


def test_colour_is_ansi_and_its_absence_is_plain(small_store: Store) -> None:
    plain, coloured = (render(tables(small_store), width=120, color=color) for color in (False, True))
    assert ANSI.search(plain) is None
    assert "\x1b[1m92.0" in coloured and "*92.0" not in coloured and "*92.0" in plain


def test_user_text_is_not_read_as_markup(small_store: Store) -> None:
    assert "[54.5]" in ANSI.sub("", render(tables(small_store, ReportRequest(table="1")), width=120, color=True))
