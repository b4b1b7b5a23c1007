from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import documents as module
from hashbench.data.sources.documents import CorpusSource, folder_corpus
from hashbench.data.sources.sources import locate_corpus, open_sources

TEXTS = [f"text {i} {'x' * (i % 7)}" for i in range(100)]


def corpus(folder: Path) -> CorpusSource:
    """A hundred documents in two parquet files of row groups of nine, two text files, a JSONL and a CSV file."""
    folder.mkdir()
    pq.write_table(pa.table({"n": range(40), "text": TEXTS[:40]}), folder / "0.parquet", row_group_size=9)
    pq.write_table(pa.table({"text": TEXTS[40:60]}), folder / "1.parquet", row_group_size=9)
    for i in (60, 61):
        (folder / f"{i}.txt").write_text(TEXTS[i])
    (folder / "7.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS[62:80]))
    (folder / "8.csv").write_text("text\n" + "\n".join(TEXTS[80:]))
    return folder_corpus("mine", "folder mine", folder)


@pytest.mark.parametrize("size", [1, 300, 10**9])
@pytest.mark.parametrize("limit", [None, 1, 9, 40, 50, 62, 70, 100, 200])
def test_shards_together_are_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, limit: int | None
) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", size)
    source = corpus(tmp_path / "mine")
    shards = source.shards(limit)
    assert [text for shard in shards for text in shard.texts()] == TEXTS[:limit] == list(source.documents(limit))
    assert len({shard.name for shard in shards}) == len(shards)
    if limit is None:
        assert (len(shards) > 5) == (size < 10**9)


@pytest.mark.parametrize("size", [1, 300, 10**9])
def test_every_shard_can_be_read_from_any_document_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", size)
    for shard in corpus(tmp_path / "mine").shards():
        whole = list(shard.texts())
        for skip in range(0, len(whole) + 2, 3):
            assert list(shard.texts(skip)) == whole[skip:]
    (limited,) = corpus(tmp_path / "again").shards(1)
    assert list(limited.texts(1)) == []


def test_names_tell_shards_apart_and_name_no_folder(tmp_path: Path) -> None:
    one, two = corpus(tmp_path / "one").shards(), corpus(tmp_path / "two").shards()
    assert [shard.name for shard in one] == [shard.name for shard in two]
    assert str(tmp_path) not in one[0].name
    articles = corpus(tmp_path / "three").shards(articles=True)
    assert articles[0].name != one[0].name


def test_a_wrong_cell_is_named_by_its_row_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", 1)
    (tmp_path / "c").mkdir()
    pq.write_table(pa.table({"text": [1, 2, 3, 4]}), tmp_path / "c" / "a.parquet", row_group_size=2)
    first, second = folder_corpus("c", "folder c", tmp_path / "c").shards()
    with pytest.raises(InputError, match=r"^folder c: a\.parquet row 1: int in column 'text', not text$"):
        list(first.texts())
    with pytest.raises(InputError, match=r"^folder c: a\.parquet row 4: int in column"):
        list(second.texts(1))


def test_a_parquet_file_without_the_column(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "c" / "a.parquet")
    (shard,) = folder_corpus("c", "folder c", tmp_path / "c").shards()
    with pytest.raises(InputError, match="no column 'text'; it has body"):
        list(shard.texts())


def test_the_generated_corpus_is_one_shard() -> None:
    source = locate_corpus("builtin", open_sources("builtin"))
    (shard,) = source.shards(5)
    assert list(shard.texts()) == list(source.documents(5))


def test_a_line_that_is_wrong_is_named_by_its_place_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", 100)
    file = tmp_path / "mine" / "0.jsonl"
    file.parent.mkdir()
    lines = [json.dumps({"text": text}) for text in TEXTS]
    for wrong, words in (("{", "is not JSON"), ("[1]", "is list"), ('{"t": 1}', "no column 'text'")):
        file.write_text("\n".join([*lines[:70], wrong, *lines[71:]]))
        shards = CorpusSource("mine", "folder mine", "folder", (file,)).shards()
        with pytest.raises(InputError, match=rf"0\.jsonl:71: {words}"):
            [text for shard in shards for text in shard.texts()]


def test_a_wrong_cell_of_a_large_file_is_named_by_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", 100)
    file = tmp_path / "mine" / "0.jsonl"
    file.parent.mkdir()
    lines = [json.dumps({"text": 7 if number == 70 else text}) for number, text in enumerate(TEXTS)]
    file.write_text("\n".join(lines))
    shards = folder_corpus("mine", "folder mine", file.parent).shards()
    with pytest.raises(InputError, match=r"^folder mine: 0\.jsonl row 71: int in column 'text', not text$"):
        [text for shard in shards for text in shard.texts()]


def test_names_of_shards_tell_subfolders_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", 1)
    for name in ("AA", "AB"):
        (tmp_path / "c" / name).mkdir(parents=True)
        (tmp_path / "c" / name / "wiki_00.jsonl").write_text(f'{{"text": "{name}"}}\n')
    first, second = folder_corpus("c", "folder c", tmp_path / "c").shards()
    assert first.name != second.name and "AA/wiki_00.jsonl" in first.name and str(tmp_path) not in first.name
