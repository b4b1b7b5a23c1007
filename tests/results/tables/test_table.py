"""Which cell is best."""

from __future__ import annotations

import pytest

from hashbench.results.papers.paper import Column
from hashbench.results.tables.table import Cell, Row, RowKind, Table, mark_best

SCORE = Column("cola", "percent", "score", better="high")
COUNT = Column("emb_params", "params", "fact", better="low")


def _row(model: str, cell: Cell, kind: RowKind = "model", name: str = "cola") -> Row:
    return Row(model, model, {name: cell}, kind)


def _best(rows: list[Row], column: Column) -> list[str]:
    return [row.model for row in mark_best(rows, (column,)) if row.cells[column.name].best]


def test_what_prints_alike_is_best_together() -> None:
    rows = [_row("a", Cell(50.04)), _row("b", Cell(50.01)), _row("c", Cell(49.9))]
    assert _best(rows, SCORE) == ["a", "b"]


def test_a_floor_does_not_compete() -> None:
    rows = [_row("a", Cell(50.0)), _row("b", Cell(40.0)), _row("majority", Cell(60.0), "floor")]
    assert _best(rows, SCORE) == ["a"]


def test_scores_on_other_data_are_not_compared() -> None:
    rows = [_row("a", Cell(50.0, group="x")), _row("b", Cell(90.0, group="y")), _row("c", Cell(40.0, group="x"))]
    assert _best(rows, SCORE) == ["a"]


def test_one_model_alone_is_not_best_of_anything() -> None:
    assert _best([_row("a", Cell(50.0)), _row("b", Cell(None))], SCORE) == []


def test_counts_in_thousands_are_below_counts_in_millions() -> None:
    rows = [_row("a", Cell(38.6, unit="M"), name="emb_params"), _row("b", Cell(797.2, unit="K"), name="emb_params")]
    assert _best(rows, COUNT) == ["b"]


def _speed_up(value: float, low: float, high: float) -> Cell:
    return Cell(value, unit="x", interval=(low, high))


def test_a_speed_up_is_best_only_where_its_interval_is_apart_from_all_others() -> None:
    column = Column("pt_speedup", "x", "fact", better="high")
    slow = Row("slow", "slow", {column.name: _speed_up(1.0, 0.9, 1.1)})
    fast = Row("fast", "fast", {column.name: _speed_up(2.0, 1.8, 2.2)})
    assert _best([slow, fast], column) == ["fast"]
    near = Row("near", "near", {column.name: _speed_up(1.9, 1.7, 1.9)})
    assert _best([slow, fast, near], column) == []
    unknown = Row("unknown", "unknown", {column.name: Cell(1.2, unit="x")})
    assert _best([slow, fast, unknown], column) == []


def test_milliseconds_of_two_runs_are_not_ranked() -> None:
    column = Column("pt_ms", "ms/sample", "fact", better="low")
    rows = [Row(name, name, {column.name: Cell(value, unit="ms/sample")}) for name, value in (("a", 1.0), ("b", 9.0))]
    assert _best(rows, column) == []


def test_a_table_has_no_two_columns_of_one_name() -> None:
    with pytest.raises(ValueError, match="table 'mine': two columns are named cola"):
        Table("", "own", "mine", "x", (SCORE, COUNT, SCORE), ())
