"""Files of text, plain or compressed, and what is said of those that cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.files import iterate_column
from hashbench.data.sources.opening import read_text

TEXT = "one\ntwo \u00e9\n"
ROWS = '{"text": "one"}\n\n{"text": "two \u00e9"}\n'


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".zst":
        path.write_bytes(pa.Codec("zstd").compress(text.encode(), asbytes=True))
    else:
        path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_texts_and_tables_are_the_same_compressed(tmp_path: Path, ending: str) -> None:
    assert read_text(write(tmp_path / f"a.txt{ending}", TEXT)) == TEXT
    assert list(iterate_column(write(tmp_path / f"b.jsonl{ending}", ROWS), "text")) == ["one", "two \u00e9"]
    assert list(iterate_column(write(tmp_path / f"c.csv{ending}", "n,text\n1,x\n"), "text")) == ["x"]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("read", [read_text, lambda path: list(iterate_column(path, "text"))])
def test_what_is_not_compressed_says_so(tmp_path: Path, ending: str, read) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    path.write_text(ROWS)
    with pytest.raises(InputError, match=r"a\.jsonl\.\w+: cannot be read \(.+\); write it again"):
        read(path)


def test_a_byte_that_is_no_utf_8_is_named_in_compressed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"ab\xff"))
    with pytest.raises(InputError, match=r"a\.txt\.gz: is a binary file, or text that is not UTF-8 \(byte 2\)"):
        read_text(path)
