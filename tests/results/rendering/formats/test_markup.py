"""Markdown and LaTeX."""

from __future__ import annotations

import re
from dataclasses import replace

from hashbench.results.papers.paper import Column, PublishedNumber
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.store.engine import Store

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


def test_markdown_has_as_many_cells_in_every_line(small_store: Store) -> None:
    text = render(tables(small_store, ReportRequest(table="1")), "md")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {11}


def test_markdown_shows_all_parts_of_a_cell() -> None:
    text = render([TABLE], "md")
    assert r"| m | **54.2** ±0.4 \[54.5\] |" in text
    assert r"| q | – \[55.6\]¹ |" in text
    assert "> **BUILT-IN DATA: 100 % generated**" in text
    assert "¹ As printed." in text and "Missing: failed: q (cola)." in text and r"- **data**: made\_up" in text


def test_a_section_is_named_once_above_its_rows() -> None:
    rows = tuple(
        replace(TABLE.rows[0], model=model, title=model, section=name)
        for model, name in zip("abcd", "xxyy", strict=True)
    )
    for style, mark in (("md", r"\*\*([xy])\*\*|^\| ([abcd]) "), ("latex", r"\{([xy])\}\}? *\\\\|^([abcd]) &")):
        lines = render([replace(TABLE, rows=rows)], style).splitlines()
        found = [each for line in lines for match in re.finditer(mark, line) for each in match.groups() if each]
        assert found == ["x", "a", "b", "y", "c", "d"], style


def test_latex_is_escaped_and_complete() -> None:
    text = render([TABLE], "latex")
    assert r"m & \textbf{54.2} {\scriptsize $\pm$0.4} {\scriptsize [54.5]} \\" in text
    assert r"q & -- {\scriptsize [55.6]$^{1}$} \\" in text
    assert r"\textbf{BUILT-IN DATA: 100 \% generated}" in text and r"A \& B\_C." in text
    assert text.count("{") == text.count("}")
    assert re.search(r"(?<!\\)[%&_#](?=[A-Za-z0-9])", re.sub(r"(?m)^%.*$", "", text).replace(" & ", " ")) is None
