"""Which cell is best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column
from hashbench.results.plots.sheet import baseline_scores
from hashbench.results.tables.table import (
    EACH_BEST,
    TRIVIAL,
    Cell,
    Row,
    RowKind,
    Table,
    best_floors_note,
    floor_note,
    mark_best,
    mark_under,
    table_floor,
)

SHARE = Column("cola", "percent", "fact", better="high")
COUNT = Column("emb_params", "params", "fact", better="low")


def _row(model: str, cell: Cell, kind: RowKind = "model", name: str = "cola") -> Row:
    return Row(model, model, {name: cell}, kind)


def _best(rows: list[Row], column: Column) -> list[str]:
    return [row.model for row in mark_best(rows, (column,)) if row.cells[column.name].best]


def test_what_prints_alike_is_best_together() -> None:
    rows = [_row("a", Cell(50.04)), _row("b", Cell(50.01)), _row("c", Cell(49.9))]
    assert _best(rows, SHARE) == ["a", "b"]


def test_a_floor_does_not_compete() -> None:
    rows = [_row("a", Cell(50.0)), _row("b", Cell(40.0)), _row("majority", Cell(60.0), "floor")]
    assert _best(rows, SHARE) == ["a"]


def test_scores_on_other_data_are_not_compared() -> None:
    rows = [_row("a", Cell(50.0, group="x")), _row("b", Cell(90.0, group="y")), _row("c", Cell(40.0, group="x"))]
    assert _best(rows, SHARE) == ["a"]


def test_a_column_has_one_best_though_its_cells_are_of_several_groups() -> None:
    rows = [_row(name, Cell(value, group=group)) for name, value, group in (
        ("a", 50.0, "x"), ("b", 40.0, "x"), ("c", 30.0, "x"), ("d", 20.0, "y"), ("e", 10.0, "y"),
    )]  # fmt: skip
    assert _best(rows, SHARE) == ["a"]


def test_scores_are_compared_elsewhere() -> None:
    score = Column("cola", "percent", "score", better="high")
    assert _best([_row("a", Cell(50.0)), _row("b", Cell(40.0))], score) == []


AVERAGE = Column("average", "percent", "average", better="high", tasks=("cola", "slots"))
TASKS = (Column("cola", "percent", "score", better="high"), Column("slots", "percent", "score", better="high"))


def _average_row(model: str, values: tuple[float | None, float | None], kind: RowKind = "model") -> Row:
    known = [value for value in values if value is not None]
    mean = sum(known) / 2 if len(known) == 2 else None
    return Row(model, model, {"cola": Cell(values[0]), "slots": Cell(values[1]), "average": Cell(mean)}, kind)


def _under_average(values: tuple[float, float], *baselines: tuple[float | None, float | None]) -> str:
    rows = [_average_row(f"baseline {i}", each, TRIVIAL) for i, each in enumerate(baselines)]
    return mark_under([_average_row("a", values)], rows, (*TASKS, AVERAGE))[0].cells["average"].under


def test_an_average_that_no_baseline_has_is_compared_with_the_best_of_each_task() -> None:
    assert _under_average((40.0, 40.0), (50.0, None), (None, 31.0)) == EACH_BEST
    assert _under_average((60.0, 20.0), (50.0, None), (None, 31.0)) == EACH_BEST  # 40 against 40.5
    assert _under_average((60.0, 22.0), (50.0, None), (None, 31.0)) == ""
    assert _under_average((60.0, 22.0), (50.0, None)) == ""  # nothing is known of one task


def test_a_baseline_of_some_tasks_is_compared_with_the_best_one_on_the_others() -> None:
    words, pairs = (30.0, 30.0), (50.0, None)
    assert _under_average((60.0, 19.0), words, pairs) == EACH_BEST  # 39.5 against 50 and 30
    assert _under_average((60.0, 21.0), words, pairs) == ""
    assert _under_average((60.0, 5.0), words, (None, None)) == ""  # 32.5 against 30


def test_an_average_of_tasks_that_are_all_under_a_baseline_is_under_it_too() -> None:
    assert _under_average((50.0, 50.0), (60.0, 10.0), (10.0, 60.0)) == EACH_BEST
    assert _under_average((50.0, 50.0), (60.0, 60.0)) == "baseline 0"
    assert _under_average((61.0, 50.0), (60.0, 10.0), (10.0, 60.0)) == EACH_BEST  # 55.5 against 60
    assert _under_average((71.0, 50.0), (60.0, 10.0), (10.0, 60.0)) == ""


FLOORS = st.lists(st.tuples(*[st.none() | st.floats(0, 100)] * 2), min_size=1, max_size=4)


@given(st.tuples(st.floats(0, 100), st.floats(0, 100)), FLOORS)
def test_sign_line_and_note_have_one_floor(
    values: tuple[float, float], baselines: list[tuple[float | None, float | None]]
) -> None:
    rows = [_average_row(f"baseline {i}", each, TRIVIAL) for i, each in enumerate(baselines)]
    table = Table("", "own", "", "", (*TASKS, AVERAGE), (_average_row("a", values), *rows))
    floor, lines = table_floor(table, AVERAGE), baseline_scores(table, "average")
    by_task = [[of[place] for of in baselines if of[place] is not None] for place in (0, 1)]
    if not all(by_task):
        assert floor is None and lines == {} and _under_average(values, *baselines) == ""
        return
    assert floor is not None and lines == {floor.name: floor.value}
    assert floor.value == pytest.approx(sum(map(max, by_task)) / 2)  # type: ignore[arg-type]
    under = sum(values) / 2 <= floor.value + 1e-9
    assert _under_average(values, *baselines) == (floor.name if under else "")
    noted = [f"average: the floor is {decimal_text(floor.value, 1)}, the mean of {EACH_BEST}."]
    assert floor_note(floor, AVERAGE) == (noted if floor.name == EACH_BEST else [])


def test_one_model_alone_is_not_best_of_anything() -> None:
    assert _best([_row("a", Cell(50.0)), _row("b", Cell(None))], SHARE) == []


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
        Table("", "own", "mine", "x", (SHARE, COUNT, SHARE), ())


def test_the_best_floor_of_each_task_is_named_with_its_bytes() -> None:
    columns = tuple(
        Column(name, "percent", "score", name.title(), name, "high", metric="accuracy") for name in ("cola", "slots")
    )

    def row(name: str, cola: Cell, slots: Cell) -> Row:
        return Row(name, name, {"cola": cola, "slots": slots}, TRIVIAL)

    rows = [
        row("majority", Cell(50.0), Cell(40.0)),
        row("hashed-words", Cell(82.25, bytes=65_536), Cell(39.0, bytes=65_536)),
        row("bag-of-pairs-2", Cell(), Cell()),
    ]
    line = "Best trivial baselines: Cola 82.2 hashed-words (65,536 bytes), Slots 40.0 majority."
    assert best_floors_note(columns, rows) == [line]
    assert best_floors_note(columns, []) == []
