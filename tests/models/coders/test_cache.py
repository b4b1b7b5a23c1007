"""Codes on disk, and codes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hashbench.models.coders.base import FIRST_ROWS, RememberedCodes, coders, make_coder, type_codes
from hashbench.models.coders.md5 import Md5Bits, Md5Rows
from hashbench.models.coders.ngram_pooling import NgramPooling
from hashbench.models.text.types import TypeTable
from tests.damage import DAMAGES
from tests.interleaved import at_each_step

TABLE = TypeTable.from_counts({"play": 2, "the": 1})


def test_codes_are_mapped_and_equal(tmp_path: Path) -> None:
    codes = type_codes(Md5Rows(), TABLE, tmp_path / "codes")
    assert isinstance(codes, np.memmap)
    assert codes.tolist() == [[22237], [20664]]


def test_a_second_call_computes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = type_codes(Md5Bits(), TABLE, tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(Md5Bits, "encode_utf8", refuse)
    assert np.array_equal(type_codes(Md5Bits(), TABLE, tmp_path), first)
    with pytest.raises(AssertionError, match="computed again"):
        type_codes(Md5Bits("other key"), TABLE, tmp_path)


def test_coders_and_tables_do_not_mix(tmp_path: Path) -> None:
    other = TypeTable.from_counts({"play": 2, "the": 9})
    assert type_codes(Md5Rows(), other, tmp_path).tolist() == [[20664], [22237]]
    assert type_codes(Md5Rows(), TABLE, tmp_path).tolist() == [[22237], [20664]]
    assert type_codes(Md5Rows(num_buckets=1033), TABLE, tmp_path)[0].tolist() == [740]


def test_a_failure_leaves_no_file_that_looks_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Md5Bits, "encode_types", break_off)
        with pytest.raises(OSError, match="disk full"):
            type_codes(Md5Bits(), TABLE, tmp_path)
    assert not list(tmp_path.glob("*.npy"))
    assert len(type_codes(Md5Bits(), TABLE, tmp_path)) == 2


@pytest.mark.e2e
@pytest.mark.parametrize("name", coders())
def test_a_mapped_table_is_coded_as_one_in_memory(name: str, tmp_path: Path) -> None:
    TABLE.save(tmp_path)
    loaded, coder = TypeTable.load(tmp_path), make_coder(name)
    coder.fit(loaded)
    assert np.array_equal(type_codes(coder, loaded, tmp_path), coder.encode(TABLE.strings()))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_codes_are_computed_again(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    codes = np.array(type_codes(Md5Bits(), TABLE, tmp_path))
    (path,) = tmp_path.glob("*.npy")
    DAMAGES[damage](path)
    assert np.array_equal(type_codes(Md5Bits(), TABLE, tmp_path), codes)
    assert str(path) in capsys.readouterr().err


class Counting(NgramPooling):
    """Notes which strings it is asked for."""

    asked: list[str]

    def encode(self, strings: Sequence[str]) -> np.ndarray:
        self.asked = [*getattr(self, "asked", []), *strings]
        return super().encode(strings)


def test_codes_are_the_coders_own() -> None:
    words = [f"word{i % 700}" for i in range(2000)] + ["naïve", "", "日本"]
    for coder in (NgramPooling(12), Md5Bits()):
        remembered = RememberedCodes(coder)
        for _ in range(2):
            found = remembered.encode(words)
            assert np.array_equal(found, coder.encode(words)) and found.dtype == coder.dtype
        assert len(remembered) == 703
        assert remembered.encode([]).shape == (0, coder.width)
        assert remembered.fingerprint() == coder.fingerprint()


def test_a_type_is_computed_once() -> None:
    coder = Counting(12)
    remembered = RememberedCodes(coder)
    for words in (["a", "b", "a"], ["b", "c"], ["a", "b", "c"]):
        remembered.encode(words)
    assert coder.asked == ["a", "b", "c"]


def test_a_whole_table_on_several_threads() -> None:
    table = TypeTable.from_counts({f"w{i}": 1 for i in range(9000)})
    coder = NgramPooling(6)
    remembered = RememberedCodes(coder)
    assert np.array_equal(remembered.encode_types(table), coder.encode_types(table))
    assert len(remembered) == 9000


def test_another_thread_may_let_the_memory_grow_in_the_middle_of_a_look_up() -> None:
    """At each step of `encode` another caller asks for so many new types that the array is replaced."""
    coder = Md5Bits()
    words = [f"w{i}" for i in range(FIRST_ROWS - 1)]
    # The last two are learned by the other caller: known or new, by when it comes in.
    asked, others = [words[0], "x1", "x999"], [f"x{i}" for i in range(1_000)]
    right, made = coder.encode(asked), []

    def fresh():
        remembered = RememberedCodes(coder)
        remembered.encode(words)
        made[:] = [remembered]
        return (lambda: remembered.encode(asked)), (lambda: remembered.encode(others))

    steps = 0
    for found in at_each_step(fresh, "models/coders/base.py", waits=lambda: made[0]._lock.locked()):
        assert np.array_equal(found, right)
        assert np.array_equal(made[0].encode(asked), right)  # and what is kept is right
        steps += 1
    assert steps > 20
