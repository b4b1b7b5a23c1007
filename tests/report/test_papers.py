"""The papers' data: every number is reachable from a layout, and every footnote from a number."""

from __future__ import annotations

import pytest

from hashbench.errors import InputError
from hashbench.report.papers import Paper, find_layout, load_paper, papers
from hashbench.report.rows import Published
from hashbench.report.measures import MEASURES


@pytest.fixture
def paper() -> Paper:
    return load_paper("hashformers")


def _cells(paper: Paper, number: str) -> set[tuple[str, str]]:
    layout = paper.tables[number]
    models = [model for section in layout.sections for model in (*section.models, *section.families)]
    return {(model, column.name) for model in models for column in layout.columns}


def test_a_printed_number_is_read_as_printed(paper: Paper) -> None:
    assert paper.numbers["1", "hashformer-lsh-proj", "cola"] == Published(56.2, unit="percent")
    assert paper.numbers["1", "bert-mlm", "average"].std == 0.4
    assert paper.numbers["3", "hashformer-proj", "infer_ms"] == Published(1.8, 4.6, unit="ms/sample")


def test_every_printed_number_has_a_place_in_its_table(paper: Paper) -> None:
    printed = {key for key in paper.numbers if not key[2].endswith(("_exact", "_frame"))}
    placed = {(number, *cell) for number in paper.tables for cell in _cells(paper, number)}
    assert printed <= placed
    assert len(printed) == 392  # 126 + 168 + 26 + 72 cells of tables 1, 2, 3 and 6


@pytest.mark.parametrize("number", ["1", "2", "3", "6"])
def test_footnotes_point_at_printed_numbers(paper: Paper, number: str) -> None:
    for note in paper.footnotes:
        for model, column in note.cells if number in note.tables else ():
            assert (number, model, column) in paper.numbers


@pytest.mark.parametrize("number", ["1", "2", "3", "6"])
def test_every_column_asks_for_a_known_measure(paper: Paper, number: str) -> None:
    assert {column.measure for column in paper.tables[number].columns} <= set(MEASURES)


def test_columns_of_tasks_are_written_out_in_the_papers_order(paper: Paper) -> None:
    names = [column.name for column in paper.tables["1"].columns]
    assert names == ["mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb", "average"]
    assert paper.tables["2"].columns[3].name == "prr_rte"


def test_unknown_papers_and_tables_are_named_with_what_there_is(paper: Paper) -> None:
    assert papers() == ["hashformers"]
    with pytest.raises(InputError, match="no paper 'hashformer'; did you mean 'hashformers'"):
        load_paper("hashformer")
    with pytest.raises(InputError, match="hashformers has no table '4' here; there are: 1, 2, 3, 6"):
        find_layout(paper, "4")
