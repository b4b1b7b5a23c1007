"""How numbers are printed: expected strings follow from the rules of the docstrings."""

from __future__ import annotations

import pytest

from hashbench.results.papers.paper import Column, PublishedNumber
from hashbench.results.tables.numbers import (
    decimals,
    interval,
    marks,
    number,
    printed,
    signs,
    signs_said,
    span,
    spread,
    suffix,
    value,
)
from hashbench.results.tables.table import Cell, Row, Table

SCORE = Column("cola", "percent", "score")
TIME = Column("infer", "ms/sample", "fact")


def table_of(*cells: Cell) -> Table:
    rows = tuple(Row(f"model {n}", f"model {n}", {"cola": cell}) for n, cell in enumerate(cells))
    return Table("", "own", "scores", "small", (SCORE,), rows)


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (79.54, "percent", "79.5"),
        (-0.04, "percent", "0.0"),
        (-0.06, "percent", "-0.1"),
        (24.96, "ms/sample", "25.0"),
        (9.96, "ms/sample", "9.96"),
        (0.0421, "ms/sample", "0.042"),
        (-0.5, "ms/sample", "-0.500"),
        (38.60352, "M", "38.6M"),
        (0.0, "K", "0"),
        (0.04, "K", "0.0K"),
        (1.5, "Mi", "1.5Mi"),
        (12.34, "KB", "12.3 KB"),
        (2.14, "x", "2.1x"),
        (2.14, "ratio", "2.1x"),
        (30_000, "count", "30,000"),
        (1234.56, "count", "1,234.6"),
    ],
)
def test_a_number_has_the_decimals_and_the_suffix_of_its_unit(amount: float, unit: str, text: str) -> None:
    assert number(amount, unit) == text


@pytest.mark.parametrize(
    ("amount", "digits"), [(0.9999, 3), (1.0, 2), (9.99, 2), (10.0, 1), (-10.0, 1), (-1.0, 2), (0.0, 3)]
)
def test_small_times_have_more_decimals(amount: float, digits: int) -> None:
    assert decimals(amount, "ms/sample") == digits
    assert decimals(amount, "percent") == 1


def test_units_of_the_columns_head_have_no_suffix() -> None:
    assert [suffix(unit) for unit in ("percent", "points", "ms/sample", "count", "minutes")] == [""] * 5


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (1.8, 4.6, "x", "1.8–4.6x"),
        (2.0, None, "x", "2.0x"),
        (2.0, 2.01, "x", "2.0x"),
        (0.84, 1.4, "M", "0.8–1.4M"),
        (70.0, 80.0, "percent", "70.0–80.0"),
    ],
)
def test_a_range_has_its_unit_once_and_is_one_number_where_both_print_alike(
    low: float, high: float | None, unit: str, text: str
) -> None:
    assert span(low, high, unit) == text


def test_a_cell_shows_its_value_with_signs_or_why_there_is_none() -> None:
    assert value(Cell(31.74, under="bag-of-words", constant=True, hollow_f1=True), SCORE) == "31.7†‡§"
    assert value(Cell(38.6, unit="M"), Column("total", "params", "fact")) == "38.6M"  # the cell's unit counts
    assert value(Cell(reason="failed"), SCORE) == "–"
    assert value(Cell(text="holds", reason="failed"), SCORE) == "holds"
    assert value(Cell(), SCORE) == ""


def test_signs_are_explained_in_their_order() -> None:
    cell = Cell(31.7, under="majority", hollow_f1=True)
    assert signs(cell) == "†§" and signs(Cell(80.0)) == signs_said(Cell(80.0)) == ""
    under = "† value not above that of majority"
    assert signs_said(cell) == f"{under}; § counts an F1 whose accuracy is below the majority class"
    assert signs_said(Cell(31.7, constant=True)) == "‡ constant predictions"


def test_the_spread_says_how_many_seeds_unless_the_table_does() -> None:
    three, two, alone = Cell(80.0, std=0.44, n=3, planned=3), Cell(80.0, std=0.5, n=2, planned=3), Cell(80.0, n=1)
    mixed = table_of(three, two, alone)
    assert [spread(cell, SCORE, mixed) for cell in (three, two, alone)] == ["±0.4 (3)", "±0.5 (2/3)", "(1)"]
    assert spread(three, SCORE, table_of(three, three)) == "±0.4"
    assert spread(alone, SCORE, table_of(alone)) == ""
    assert spread(Cell(80.0), SCORE, mixed) == spread(Cell(reason="failed", n=0), SCORE, mixed) == ""


def test_intervals_are_in_the_unit_of_the_column() -> None:
    assert interval(Cell(80.0, interval=(78.04, 81.96)), SCORE) == "78.0..82.0"
    assert interval(Cell(0.5, interval=(0.4567, 1.2345)), TIME) == "0.457..1.23"
    assert interval(Cell(80.0), SCORE) == ""


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(published=PublishedNumber(1.8, 4.6, unit="x")), "1.8–4.6x"),
        (Cell(published=PublishedNumber(79.5, std=0.41, unit="percent")), "79.5±0.4"),
        (Cell(published=PublishedNumber(30000, unit="words", decimals=0)), "30,000"),
        (Cell(published=PublishedNumber(0.5, std=0.25, decimals=2), unavailable=True), "0.50±0.25"),
        (Cell(unavailable=True), "n/a"),
        (Cell(80.0), ""),
    ],
)
def test_a_papers_number_is_shown_as_it_was_printed(cell: Cell, text: str) -> None:
    assert printed(cell) == text


def test_footnotes_are_superscripts() -> None:
    assert marks(Cell(marks=(1, 23))) == "¹⋅²³" and marks(Cell()) == ""
