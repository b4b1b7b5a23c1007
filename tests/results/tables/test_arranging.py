"""`report --models` and `--sort`: rows of some models, and rows in the order of a column."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Column
from hashbench.results.tables.report import sorted_by, tables, with_columns, with_models
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

COLUMNS = (
    Column("sst2", "percent", "score", "SST-2", "sst2", "high", subtitle="accuracy"),
    Column("emb_params", "params", "fact", "params", better="low", subtitle="embedding"),
    Column("total_params", "params", "fact", "params", better="low", subtitle="all"),
)


def row(model: str, score: float | None, embedding: Cell = Cell(), section: str = "Models") -> Row:
    cells = {"sst2": Cell(score), "emb_params": embedding, "total_params": Cell()}
    return Row(model, model, cells, "model" if section == "Models" else "floor", section=section)


TABLE = Table(
    "", "own", "t", "t", COLUMNS,
    (
        row("a", 50.0, Cell(1.5, unit="M")),
        row("b", None, Cell(900.0, unit="K")),
        row("c", 70.0, Cell(7.0)),
        row("majority", 10.0, section="Trivial baselines"),
        row("bag-of-words", 90.0, section="Trivial baselines"),
    ),
)  # fmt: skip


def order(name: str) -> list[str]:
    return [of.model for of in sorted_by([TABLE], name)[0].rows]


def test_scores_fall_and_sizes_rise_within_each_section_and_what_is_missing_comes_last() -> None:
    assert order("sst2") == ["c", "a", "b", "bag-of-words", "majority"]
    assert order("emb_params") == ["c", "b", "a", "majority", "bag-of-words"]  # 7 before 900 K before 1.5 M


@pytest.mark.parametrize("name", ["sst2", "SST2", " SST-2", "accuracy", "SST-2 accuracy"])
def test_a_column_is_named_by_its_key_its_heading_or_the_words_below(name: str) -> None:
    assert order(name) == order("sst2")


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 100.0)), max_size=12))
def test_sorting_keeps_all_rows_and_the_order_of_equal_ones(scores: list[float | None]) -> None:
    table = Table("", "own", "t", "t", COLUMNS, (row("x", 1.0), *(row(str(i), s) for i, s in enumerate(scores))))
    rows = sorted_by([table], "sst2")[0].rows
    values = [of.cells["sst2"].value for of in rows]
    assert sorted(of.model for of in rows) == sorted(of.model for of in table.rows)
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True) and None not in values[: len(known)]
    names = [of.model for of in rows if of.cells["sst2"].value is None]
    assert names == sorted(names, key=int)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("params", "names the columns emb_params, total_params; name one"),
        ("sts2", r"no column 'sts2'; did you mean 'sst2'\? \(there is: sst2, emb_params, total_params\)"),
        ("total_params", "has no number to sort by"),
    ],
)
def test_a_column_that_cannot_order_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--sort: .*{message}"):
        order(name)


def test_models_are_chosen_by_name_or_pattern_and_a_note_says_among_which_the_marks_are() -> None:
    shown = with_models([TABLE], ["b*", "c"])[0]
    assert [of.model for of in shown.rows] == ["b", "c", "bag-of-words"]
    assert shown.notes[0] == "3 of 5 rows are shown; marks and ranks are those among all of them."


def test_a_name_of_no_row_and_a_table_without_models_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"--models: no row of 'bag-of-word' in this table; did you mean 'bag-of-words'"
    ):
        with_models([TABLE], ["a", "bag-of-word"])
    settings = Table("", "4", "t", "t", COLUMNS, (Row("x", "x", {}, "setting"),))
    with pytest.raises(InputError, match="--models: the rows of this table are no models"):
        with_models([settings], ["a"])


def test_columns_are_chosen_and_ordered_by_name() -> None:
    names = [column.name for column in TABLE.columns]
    (shown,) = with_columns([TABLE], [names[2], names[0].upper()])
    assert [column.name for column in shown.columns] == [names[2], names[0]] and shown.rows == TABLE.rows
    with pytest.raises(InputError, match=r"--columns: no column 'nothing' \(there is: "):
        with_columns([TABLE], [names[0], "nothing"])


def test_a_table_without_the_columns_is_left_out() -> None:
    other = replace(TABLE, columns=TABLE.columns[1:])
    assert with_columns([TABLE, other], [TABLE.columns[0].name]) == [replace(TABLE, columns=TABLE.columns[:1])]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("arranging") / "results.db", World(tasks=("cola", "mnli"), seeds=(0, 1)))


def test_a_report_has_the_marks_of_the_whole_table(store: Store) -> None:
    whole = {of.model: of for of in tables(store)[0].rows}
    shown = tables(store, ReportRequest(models=("bert-mlm", "majority"), sort="mnli"))[0].rows
    assert [of.model for of in shown] == ["bert-mlm", "majority"]
    assert all(of.cells == whole[of.model].cells for of in shown)
