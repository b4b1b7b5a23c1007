from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.files import FileTable, find_table, iterate_column, read_columns

EMOJI = "emoji \U0001f600\U0001f468\u200d\U0001f469"
ODD_TEXTS = ["", EMOJI, "x" * 100_000, "NUL \0 inside", 'a,b "c"\nd', "y" * 200_000]


def parquet(path: Path) -> None:
    pq.write_table(pa.table({"text": ODD_TEXTS, "label": range(len(ODD_TEXTS))}), path)


def csv(path: Path) -> None:
    rows = ['"' + text.replace('"', '""') + f'",{i}' for i, text in enumerate(ODD_TEXTS)]
    path.write_bytes(("text,label\n" + "\n".join(rows) + "\n").encode())


def jsonl(path: Path) -> None:
    path.write_text("\n".join(json.dumps({"text": text, "label": i}) for i, text in enumerate(ODD_TEXTS)) + "\n")


@pytest.mark.parametrize("write", [parquet, csv, jsonl])
def test_odd_texts_come_back_as_they_are(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / f"train.{write.__name__}"
    write(path)
    found = FileTable((path,)).read(["text", "label"])
    assert found["text"] == ODD_TEXTS
    assert [int(cell) for cell in found["label"]] == list(range(len(ODD_TEXTS)))  # type: ignore[call-overload]
    assert list(iterate_column(path, "text")) == ODD_TEXTS


LINES = {"csv": ("text,label\n", "{},0\n"), "tsv": ("text\tlabel\n", "{}\t0\n"), "jsonl": ("", '{{"text": "{}"}}\n')}


@pytest.mark.parametrize("suffix", LINES)
def test_a_file_of_lines_is_never_whole_in_memory(tmp_path: Path, suffix: str) -> None:
    head, line = LINES[suffix]
    path = tmp_path / f"train.{suffix}"
    path.write_text(head + "".join(line.format(f"{number} {'x' * 1_000}") for number in range(5_000)))
    tracemalloc.start()
    seen = [str(cell).split()[0] for cell in iterate_column(path, "text", skip=2)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == [str(number) for number in range(2, 5_000)]
    assert most < 1_000_000 < path.stat().st_size / 4


@pytest.mark.parametrize("suffix", LINES)
def test_the_byte_that_is_wrong_is_counted_from_the_beginning(tmp_path: Path, suffix: str) -> None:
    head, line = LINES[suffix]
    path, whole = tmp_path / f"train.{suffix}", (head + 3_000 * line.format("four")).encode()
    path.write_bytes(whole + b"\xff\n")
    cells = iterate_column(path, "text")
    assert next(cells) == "four"  # before anything is known of the end
    with pytest.raises(InputError, match=rf"not UTF-8 \(byte {len(whole)}\)"):
        list(cells)


def test_unpaired_surrogates_pass_in_jsonl_and_csv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "bad \\ud800 one", "label": 0}\n')
    (tmp_path / "b.csv").write_bytes(b"text,label\nbad \xed\xa0\x80 one,0\n")
    for name in ("a.jsonl", "b.csv"):
        assert read_columns(tmp_path / name, ["text"])["text"] == ["bad \ud800 one"]


def test_csv_with_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbftext,label\r\na,1\r\n\r\nb,0\r\n")
    assert read_columns(tmp_path / "t.csv", ["text", "label"]) == {"text": ["a", "b"], "label": ["1", "0"]}


def test_missing_cell_of_parquet_is_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", None]}), tmp_path / "t.parquet")
    assert read_columns(tmp_path / "t.parquet", ["text"])["text"] == ["a", None]


def test_a_table_in_parts_is_read_in_order(tmp_path: Path) -> None:
    for i in (0, 1):
        pq.write_table(pa.table({"text": [f"part {i}"]}), tmp_path / f"train-0000{i}-of-00002.parquet")
    table = find_table(tmp_path, ["train"])
    assert table is not None and table.n_rows() == 2
    assert table.read(["text"])["text"] == ["part 0", "part 1"]


def test_a_split_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert find_table(tmp_path, ["train"]) is None


def wrong(path: Path, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FileTable((path,)).read(["text", "label"])


def test_missing_file(tmp_path: Path) -> None:
    wrong(tmp_path / "train.csv", r"train\.csv: no such file; check the path")


def test_folder_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "train.csv").mkdir()
    wrong(tmp_path / "train.csv", r"train\.csv: is a folder; a \.csv file is expected there")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_empty_file(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"train.{suffix}").touch()
    wrong(tmp_path / f"train.{suffix}", "is an empty file; put a table of texts in it, or remove it")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_binary_file(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"train.{suffix}").write_bytes(bytes(range(256)))
    wrong(tmp_path / f"train.{suffix}", r"is a binary file, or text that is not UTF-8 \(byte 128\)")


def test_binary_file_that_decodes_by_chance(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b"\0\1\2\3\n")
    wrong(tmp_path / "train.csv", r"is a binary file \(its first line holds NUL\)")


def test_binary_file_named_parquet(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(bytes(range(256)))
    wrong(tmp_path / "train.parquet", "is not a parquet file, or a damaged one")


def test_damaged_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a" * 1_000], "label": [0]}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "train.parquet").write_bytes(data[: len(data) // 2])
    wrong(tmp_path / "train.parquet", "is not a parquet file, or a damaged one")


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n")
    wrong(tmp_path / "train.csv", "has no rows; put at least one in it")


def test_missing_column_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("texts,label\na,0\n")
    wrong(tmp_path / "train.csv", r"no column 'text'; did you mean 'texts'\?")


def test_missing_column_lists_what_there_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"words": ["a"], "klass": [0]}), tmp_path / "train.parquet")
    wrong(tmp_path / "train.parquet", "no column 'text'; it has words, klass")


def test_row_of_another_width(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\na,0\nb, c,1\n")
    wrong(tmp_path / "train.csv", r"train\.csv:3: 3 cells, the header has 2; quote texts with commas")


def test_csv_with_a_wrong_quote(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('text,label\n"a"b,0\n')
    wrong(tmp_path / "train.csv", r"train\.csv:2: is not CSV")


def test_jsonl_line_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "a", "label": 0}\n{"text": \n')
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:2: is not JSON .*; each line is one object")


def test_jsonl_line_that_is_not_an_object(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("[1, 2]\n")
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:1: is list, not an object")


def test_jsonl_line_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "a", "label": 0}\n{"text": "a"}\n')
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:2: no column 'label'; it has text")


def test_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "train.xls").write_text("x")
    wrong(tmp_path / "train.xls", r"a table is a \.parquet, \.csv, \.tsv or \.jsonl file; convert it")


def test_two_files_for_one_split(tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    (tmp_path / "train.jsonl").touch()
    with pytest.raises(InputError, match=r"train\.csv and train\.jsonl are both the train split; keep one"):
        find_table(tmp_path, ["train"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_fingerprint_follows_the_content(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train.{suffix}"
    path.write_text("one")
    first = FileTable((path,)).fingerprint()
    path.write_text("two!")
    second = FileTable((path,)).fingerprint()
    path.write_text("one")
    assert first != second
    assert FileTable((path,)).fingerprint() == first
