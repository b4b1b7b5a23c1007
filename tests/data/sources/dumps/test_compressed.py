"""Stretches of a compressed dump."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.dumps.spill import decompressed, index_name, index_of, stretches, whole
from tests.data.sources.dumps.wiki_dumps import Dumped, write_dump

PAGES = [Dumped(f"Page {n}", f"[[Page {n + 1}]]") for n in range(10)]


def text_of(path: Path) -> bytes:
    return b"".join(piece for piece, _ in decompressed(whole(path)))


@pytest.mark.parametrize("streams_in_a_stretch", [1, 2, 3, 100])
def test_stretches_follow_each_other_and_leave_nothing_out(tmp_path: Path, streams_in_a_stretch: int) -> None:
    dump = write_dump(tmp_path, PAGES, streams=2)
    index = index_of(dump)
    assert index is not None
    work = stretches(dump, index, streams_in_a_stretch)
    assert len(work) == -(-5 // streams_in_a_stretch)
    assert b"".join(piece for each in work for piece, _ in decompressed(each)) == text_of(dump)
    assert [each.starts for each in work] == [True] + [False] * (len(work) - 1)
    assert [each.ends for each in work] == [False] * (len(work) - 1) + [True]


def test_one_stream_and_many_hold_the_same(tmp_path: Path) -> None:
    assert text_of(write_dump(tmp_path, PAGES)) == text_of(write_dump(tmp_path, PAGES, streams=3))


def test_the_names_of_indexes() -> None:
    assert index_name(Path("a/enwiki-20261101-pages-articles-multistream.xml.bz2")) == Path(
        "a/enwiki-20261101-pages-articles-multistream-index.txt.bz2"
    )
    assert index_name(Path("enwiki-latest-pages-articles.xml.bz2")) is None


def test_a_dump_without_its_index_has_none(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, PAGES, streams=2)
    (tmp_path / "enwiki-latest-pages-articles-multistream-index.txt.bz2").unlink()
    assert index_of(dump) is None


def test_what_is_not_bz2_is_named(tmp_path: Path) -> None:
    plain = tmp_path / "dump.xml"
    plain.write_text("<mediawiki>")
    with pytest.raises(InputError, match="dump.xml: is not compressed by bzip2"):
        whole(plain)
    with pytest.raises(InputError, match="no such file"):
        whole(tmp_path / "none.bz2")
    with pytest.raises(InputError, match="is a folder; give the .xml.bz2 file in it"):
        whole(tmp_path)


def test_a_dump_that_breaks_off_or_is_damaged_is_named(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, PAGES)
    data = dump.read_bytes()
    dump.write_bytes(data[:-20])
    with pytest.raises(InputError, match="ends in the middle, so it is not whole; download it again"):
        text_of(dump)
    dump.write_bytes(data[:60] + b"damage" + data[66:])
    with pytest.raises(InputError, match="is damaged near byte"):
        text_of(dump)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1:2:A\n3:4:B\n", "no stream begins at 1"),
        ("offset,page\n", "whose lines are offset:page:title"),
        ("500:1:A\n20:2:B\n", "whose offsets rise"),
        ("", "whose offsets rise"),
        ("100000000:1:A\n", "is shorter than its index says, so it is not whole"),
    ],
)
def test_an_index_of_something_else_is_named(tmp_path: Path, lines: str, message: str) -> None:
    dump = write_dump(tmp_path, PAGES, streams=2)
    index = index_of(dump)
    assert index is not None
    index.write_bytes(bz2.compress(lines.encode()))
    with pytest.raises(InputError) as error:
        stretches(dump, index)
    assert message in str(error.value)


def test_an_index_without_line_ends_is_not_held_whole(tmp_path: Path) -> None:
    dump = write_dump(tmp_path, PAGES, streams=2)
    index = index_of(dump)
    assert index is not None
    index.write_bytes(bz2.compress(b"1" * 10_000_000))
    with pytest.raises(InputError, match="is not the index of .*: a line of more than 65,536 bytes"):
        stretches(dump, index)
