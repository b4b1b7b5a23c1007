"""Columns of texts in mapped memory are read like the lists that they replace."""

from __future__ import annotations

import errno
import json
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.cache import MARK
from hashbench.common.errors import InputError
from hashbench.data.sources import mapped
from hashbench.data.sources.files import FileTable
from hashbench.data.sources.mapped import GatheredCells, MappedTexts, large_array, taken
from hashbench.data.tasks.text import cells_as_texts
from hashbench.models.text.unicode import well_formed

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)  # unpaired surrogates too


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mapped, "MAPPED_FROM", 3)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))


def gathered(*blocks: Sequence[object]) -> Sequence[object]:
    cells = GatheredCells()
    for block in blocks:
        cells.extend(block)
    return cells.finish()


@given(st.lists(st.lists(st.none() | ANY_TEXT | st.integers(), max_size=4), max_size=4), st.data())
def test_cells_are_those_that_came(blocks: list[list[object]], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "MAPPED_FROM", 3)
        patch.setattr(mapped, "MOST_SHARED", 2)
        patch.setattr(mapped, "CELLS_AT_ONCE", 2)
        cells = gathered(*blocks)
        plain = [cell for block in blocks for cell in block]
        assert list(cells) == plain and len(cells) == len(plain)
        are_texts = all(cell is None or isinstance(cell, str) for cell in plain)
        if not any(isinstance(cell, str) and well_formed(cell) != cell for cell in plain):
            assert isinstance(cells, MappedTexts if are_texts and sum(len(c or "") for c in plain) > 3 else list)
        if are_texts:
            texts = cells_as_texts(cells, "here")
            wanted = [cell or "" for cell in plain]
            assert list(texts) == wanted and texts == wanted and wanted == texts
            rows = np.array(data.draw(st.permutations(range(len(plain)))), np.int64)
            twice = taken(taken(texts, rows), rows)
            assert list(twice) == [wanted[rows[row]] for row in rows] and twice[::-1] == list(twice)[::-1]
            assert pickle.loads(pickle.dumps(twice)) == list(twice)


def test_a_cell_by_its_place() -> None:
    cells = gathered(["some", None, "texts"])
    assert isinstance(cells, MappedTexts)
    assert (cells[0], cells[1], cells[-1], cells[1:]) == ("some", None, "texts", [None, "texts"])
    texts = cells.filled()
    assert (texts[1], texts[-1], texts[:2]) == ("", "texts", ["some", ""])
    with pytest.raises(IndexError):
        texts[3]
    assert texts != ["some", "", "text"] and texts != ("some", "", "texts")


def test_few_different_texts_are_one_object_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MAPPED_FROM", 100)
    cells = GatheredCells()
    cells.extend(["".join("ab"), "".join("ab")])
    first, second = cells.finish()
    assert first is second


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_table_is_read_alike_mapped_and_as_lists(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": f"text {number} é", "label": number % 3} for number in range(9_000)]
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name, row_group_size=1000)
    elif name.endswith("csv"):
        (tmp_path / name).write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows))
    else:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = FileTable((tmp_path / name,))
    read = table.read(["label", "text"])
    assert isinstance(read["text"], MappedTexts)
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1 << 24)
    plain = table.read(["label", "text"])
    assert isinstance(plain["text"], list)
    assert {key: list(cells) for key, cells in read.items()} == plain


def test_a_file_leaves_nothing_in_the_cache_folder(tmp_path: Path) -> None:
    cells = gathered(["some", "texts"])
    assert isinstance(cells, MappedTexts) and [path.name for path in (tmp_path / "cache").iterdir()] == [MARK]


def test_without_a_cache_folder_cells_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "file"))
    assert gathered(["some"], ["texts"]) == ["some", "texts"]
    assert len(large_array(100, np.int32)) == 100


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mapped, "_nameless", Full)
    with pytest.raises(InputError, match="texts cannot be written .No space left on device.; make room there"):
        gathered(["some texts"])


def test_a_large_array_is_filled_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    array = large_array(1_000, np.int32)
    assert array.base is not None and array.dtype == np.int32  # a view of mapped memory
    array[:] = np.arange(1_000)
    assert array.tolist() == list(range(1_000))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    assert large_array(1_000, np.int32).base is None


def test_texts_that_are_equal_have_one_answer_whatever_holds_them() -> None:
    first, second = (cells_as_texts(gathered(["some", "texts"]), "here") for _ in range(2))
    assert isinstance(first, MappedTexts) and first == second
