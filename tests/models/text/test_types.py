"""Type tables: order, identity, files; the plain interner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.text.types import SORTED_IN_PYTHON, DictInterner, TypeTable
from tests.oracles import words as oracle

NASTY = st.text(alphabet=st.sampled_from("ab\0\x01é\uffff\U0001f600"), max_size=20)


def test_ids_run_by_count_and_then_by_code_points() -> None:
    table = TypeTable.from_counts({"b": 2, "a": 2, "\uffff": 2, "\U0001f600": 2, "zz": 9, "": 1})
    assert table.strings() == ["zz", "a", "b", "\uffff", "\U0001f600", ""]  # UTF-16 order would swap the last two of 2
    assert table.counts.tolist() == [9, 2, 2, 2, 2, 1]


@given(st.dictionaries(NASTY, st.integers(1, 3), max_size=60), st.sampled_from([0, SORTED_IN_PYTHON]))
@settings(max_examples=150)
def test_order_equals_a_plain_sort(counts: dict[str, int], few: int) -> None:
    """As few types are sorted, and as many are."""
    expected = oracle.table([[token] * count for token, count in counts.items()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hashbench.models.text.types.SORTED_IN_PYTHON", few)
        table = TypeTable.from_counts(counts)
    assert list(zip(table.strings(), table.counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("few", [0, 2_000], ids=["many", "few"])
def test_long_common_prefixes_are_told_apart(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("hashbench.models.text.types.SORTED_IN_PYTHON", few)
    words = ["x" * 100 + end for end in ("", "b", "a", "aa", "a\0")]
    assert TypeTable.from_counts(dict.fromkeys(words, 1)).strings() == sorted(words)


def test_strings_of_some_ids() -> None:
    table = TypeTable.from_counts({"a": 3, "b": 2, "c": 1})
    assert table.strings([2, 0]) == ["c", "a"]
    assert table.string(1) == "b"
    assert len(table) == 3


def test_fingerprint_is_of_strings_and_counts() -> None:
    one = TypeTable.from_counts({"a": 3, "b": 2})
    assert one.fingerprint == TypeTable.from_counts({"b": 2, "a": 3}).fingerprint
    assert one.fingerprint != TypeTable.from_counts({"a": 3, "b": 1}).fingerprint
    assert one.fingerprint != TypeTable.from_counts({"a": 3, "c": 2}).fingerprint
    assert len(one.fingerprint) == 64


def test_a_saved_table_is_mapped_and_equal(tmp_path: Path) -> None:
    table = TypeTable.from_counts({"é": 3, "b": 2, "": 1})
    table.save(tmp_path / "types")
    loaded = TypeTable.load(tmp_path / "types")
    assert isinstance(loaded.blob, np.memmap)
    assert loaded.strings() == table.strings()
    assert loaded.fingerprint == table.fingerprint == TypeTable(loaded.blob, loaded.offsets, loaded.counts).fingerprint


def test_an_empty_table_works(tmp_path: Path) -> None:
    table = TypeTable.from_counts({})
    table.save(tmp_path)
    assert TypeTable.load(tmp_path).strings() == []


def test_a_table_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no type table; prepare the data again"):
        TypeTable.load(tmp_path / "nothing")


def test_a_table_of_another_format_is_an_input_error(tmp_path: Path) -> None:
    TypeTable.from_counts({"a": 1}).save(tmp_path)
    (tmp_path / "types.json").write_text('{"format": 99, "types": 1, "fingerprint": ""}')
    with pytest.raises(InputError, match="format 99, this program reads 1"):
        TypeTable.load(tmp_path)


def test_the_plain_interner_counts_occurrences_over_calls() -> None:
    interner = DictInterner(str.split)
    first, second = interner.add(["b a b", ""]), interner.add(["c b"])
    table, remap = interner.finish()
    assert table.strings() == ["b", "a", "c"]
    assert table.counts.tolist() == [3, 1, 1]
    assert [table.string(i) for i in first.remapped(remap).text(0)] == ["b", "a", "b"]
    assert first.text(1).tolist() == []
    assert [table.string(i) for i in second.remapped(remap).ids] == ["c", "b"]
    assert first.ids.dtype == np.int32
    assert len(first) == 2
