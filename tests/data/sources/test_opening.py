"""Files of text, plain or compressed, and what is said of those that cannot be read."""

from __future__ import annotations

import gzip
import tempfile
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.sources import opening, text_tables
from hashbench.data.sources.files import iterate_column
from hashbench.data.sources.opening import first_wrong_byte, read_text

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


def test_a_document_that_unfolds_to_more_than_the_limit_is_one_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_TEXT", 1_000_000)
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a" * 50_000_000))  # 50 kB
    tracemalloc.start()
    with pytest.raises(InputError, match=r"a\.txt\.gz: a text file is one document, and has 1,000,000 bytes at most"):
        read_text(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


LONG = 3 * opening.READ_BLOCK


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv", ".json", ".conll", ".jsonl.gz", ".csv.gz"])
def test_no_reader_of_tables_holds_a_line_above_the_limit(tmp_path: Path, monkeypatch, ending: str) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_LINE", 1_000)
    path = write(tmp_path / f"a{ending}", '[{"text": "' + "a" * LONG if ending == ".json" else "a" * LONG)
    column = "tokens" if ending == ".conll" else "text"
    with pytest.raises(InputError, match=r"a\.\w+(\.gz)?(:1)?: (a line of more than 1,000 characters|is not JSON)"):
        list(iterate_column(path, column))


@given(st.binary(max_size=40), st.integers(1, 5))
def test_the_first_wrong_byte_is_that_of_a_decoder_of_the_whole(content: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "READ_BLOCK", block)
        path = Path(folder) / "a.txt"
        path.write_bytes(content)
        try:
            content.decode("utf-8", errors="surrogatepass")
            expected = len(content)
        except UnicodeDecodeError as error:
            expected = error.start
        assert first_wrong_byte(path) == expected
