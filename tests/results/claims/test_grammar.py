"""Claims as they are written: what each form means, and one line for what the grammar does not have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.results.claims.claim import Claim, csv_rows, read_rows
from hashbench.results.claims.grammar import ColumnName

GOOD = {"id": "own-1a", "kind": "greater", "left": "a", "right": "b", "column": "sst2", "unit": "percent"}


def _read(models: Sequence[str] | None = None, **changes: str) -> Claim:
    return read_rows([{**GOOD, **changes}], ["own.csv:2"], models)[0]


def _parts(**changes: str) -> list[str]:
    return [str(part) for part in _read(**changes).parts]


def test_every_member_is_a_part() -> None:
    assert _parts(left="min(a,b)", right="max(c,d)") == ["a > c: sst2", "a > d: sst2", "b > c: sst2", "b > d: sst2"]
    assert _parts(column="each(sst2,rte - cola)") == ["a > b: sst2", "a > b: rte - cola"]


def test_a_spread_is_every_pair_of_two() -> None:
    found = _parts(left="a - b", right="max(c,d) - min(c,d)")
    assert found == ["a - b > c - d: sst2", "a - b > d - c: sst2"]


def test_an_ordering_is_its_steps() -> None:
    parts = _read(kind="ordering", left="a > b ~ c", right="", bound="0.5").parts
    assert [(part.kind.name, str(part.left), str(part.right)) for part in parts] == [
        ("greater", "a", "b"), ("equal_within", "b", "c"),
    ]  # fmt: skip


def test_an_interaction_of_earlier_files_is_read_as_greater() -> None:
    claim = _read(kind="interaction", left="a - b", right="c - d")
    assert (claim.kind.name, str(claim.parts[0])) == ("greater", "a - b > c - d: sst2")


def test_numbers_and_ends_are_read() -> None:
    claim = _read(kind="ratio_at_least", right="100", bound="2.05", unit="x", column="infer_ms:high")
    assert (claim.parts[0].right, str(claim.parts[0].column), claim.bound) == (100.0, "infer_ms:high", 2.05)
    assert (_read(unit="Mi").scale, _read(unit="K").scale) == (2.0**20, 1000.0)


def test_models_at_an_earlier_step_and_on_fewer_rows_are_named_as_in_tables() -> None:
    claim = _read(kind="greater", left="k2@100rows - a.b-16k@1000", right="0")
    assert claim.parts[0].slugs == ("k2@100rows", "a.b-16k@1000")


def test_a_column_may_be_one_of_many_tasks_alike() -> None:
    claim = _read(kind="greater", column="sib200:hin_Deva:low")
    assert claim.parts[0].column == ColumnName("sib200:hin_Deva", "low")


def test_the_number_is_the_id_without_its_letter() -> None:
    assert [_read(id=name).number for name in ("own-1a", "own-12", "canine-01")] == ["own-1", "own-12", "canine-01"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "grater"}, "unknown kind 'grater'; did you mean 'greater'"),
        ({"unit": "kilo"}, "unknown unit 'kilo'; there are: percent"),
        ({"left": "a b"}, "'a b' is no model expression; allowed are a model's name"),
        ({"left": "a - b - c"}, "more than one operator"),
        ({"left": "median(a,b)"}, "no function 'median' of models; there are: mean, min, max"),
        ({"left": "mean(a,)"}, "has an empty member"),
        ({"column": "all(a,b)"}, "no function 'all' of columns; there are: mean, each"),
        ({"column": "infer_ms:middle"}, "is no column; allowed are"),
        ({"left": "max(a,b)"}, "would ask for one member only; a claim is decided of every member: write min()"),
        ({"right": ""}, "compares with something: right is empty"),
        ({"kind": "ordering", "right": ""}, "is no chain; an ordering is written 'a > b ~ c'"),
        ({"kind": "count", "right": "", "unit": "K"}, "count needs the number that is claimed, in 'expected'"),
        ({"kind": "ratio_at_least"}, "a bound above 0 and the unit x"),
        ({"kind": "ratio_at_least", "unit": "x", "bound": "0"}, "a bound above 0 and the unit x"),
        ({"left": "a / b", "right": "0.5"}, "its unit is x, not percent"),
        ({"bound": "0.5"}, "bound of 'greater' is 0"),
        ({"bound": "much"}, "bound 'much' is no number"),
        ({"id": ""}, "has no id; give one"),
        ({"colum": "x"}, "unknown key 'colum' of a claim; did you mean 'column'"),
    ],
)
def test_what_the_grammar_has_not_is_one_line_with_its_place(changes: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as error:
        _read(**changes)
    assert str(error.value).startswith("own.csv:2: ") and said in str(error.value) and "\n" not in str(error.value)


def test_an_id_stands_once() -> None:
    with pytest.raises(InputError, match="claim 'own-1a' stands twice"):
        read_rows([GOOD, GOOD], ["own.csv:2", "own.csv:3"])


def test_a_file_is_read_and_its_faults_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(",".join(GOOD) + "\n" + ",".join(GOOD.values()) + "\n")
    assert [claim.id for claim in read_rows(*csv_rows(file))] == ["own-1a"]
    file.write_text(",".join(GOOD) + "\nonly,two\n")
    with pytest.raises(InputError, match=r"own.csv:2: has fewer cells than the header"):
        csv_rows(file)
    file.write_text("")
    with pytest.raises(InputError, match="holds no claim"):
        csv_rows(file)
    with pytest.raises(InputError, match="name a CSV file"):
        csv_rows(tmp_path / "none.csv")


NUMBERED = ["128", "256", "0"]


@pytest.mark.parametrize("kind", ["greater", "difference_at_least", "equal_within", "ratio_at_least"])
def test_a_number_that_is_a_models_name_is_that_model(kind: str) -> None:
    bound, unit = ("0", "percent") if kind == "greater" else ("2", "x")
    claim = _read(NUMBERED, kind=kind, left="256", right="mean(128,0)", bound=bound, unit=unit)
    assert claim.slugs == ("256", "128", "0")


def test_all_forms_of_models_take_a_number_for_a_name() -> None:
    chain = _read(NUMBERED, kind="ordering", left="256 > 128 ~ 0", right="", bound="1")
    assert [part.slugs for part in chain.parts] == [("256", "128"), ("128", "0")]
    pairs = _read([*NUMBERED, "a"], kind="interaction", left="min(256,128) - a", right="a - 0")
    assert [part.slugs for part in pairs.parts] == [("256", "a", "0"), ("128", "a", "0")]
    assert _read(NUMBERED, kind="count", left="128", right="", expected="3").slugs == ("128",)


@pytest.mark.parametrize(
    ("changes", "models", "said"),
    [
        (
            {"left": "512", "right": "128"},
            NUMBERED,
            "no model '512'; where a model's name is a number, every number is",
        ),
        ({"left": "257", "right": "128"}, NUMBERED, "no model '257'; where"),
        ({"left": "256.0", "right": "128"}, NUMBERED, "no model '256.0'"),
        ({"kind": "difference_at_least", "left": "a", "right": "80"}, ["a", "128"], "no model '80'"),
        ({"left": "512", "right": "a"}, ["a"], "no model '512'; 'greater' compares models: with a number"),
        ({"left": "a", "right": "mean(80,b)"}, ["a", "b"], "no model '80'; 'greater' compares models"),
        ({"kind": "ordering", "left": "a > 80", "right": "", "bound": "1"}, ["a"], "no model '80'; 'greater' compares"),
        ({"kind": "difference_at_least", "left": "512", "right": "128"}, ["a"], "512 - 128: sst2 names no model"),
        ({"kind": "count", "left": "5", "right": "", "expected": "5"}, ["a"], "5: sst2 names no model; at least one"),
    ],
)
def test_a_number_that_is_no_model_and_no_constant_is_an_error(
    changes: dict[str, str], models: list[str], said: str
) -> None:
    with pytest.raises(InputError) as error:
        _read(models, **changes)
    assert str(error.value).startswith("own.csv:2: claim 'own-1a': ") and said in str(error.value)


def test_a_constant_stands_where_a_kind_has_a_bound_and_0_for_a_sign() -> None:
    for changes in ({"right": "0"}, {"kind": "difference_at_least", "right": "80"},
                    {"kind": "ordering", "left": "a ~ 80", "right": "", "bound": "1"}):  # fmt: skip
        assert _read(["a", "b"], **changes) == _read(**changes)


@given(st.lists(st.from_regex(r"[0-9]{1,3}(\.[0-9])?", fullmatch=True), min_size=2, max_size=4, unique=True))
def test_no_number_of_a_claim_is_a_constant_beside_models_with_numbers(names: list[str]) -> None:
    first, *others = names
    sides = {"left": first, "right": f"mean({','.join(others)})"}
    assert _read(names, **sides).slugs == tuple(names)
    with pytest.raises(InputError, match="no model"):
        _read(others, **sides)
