"""Corpora of one's own files: named by a path, known by their content."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.data.sources import opening
from hashbench.data.sources.documents import own_corpus
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.sources.text_tables import QUOTED, ROWS_IN_A_CELL
from hashbench.data.tasks.catalogue import available
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan

FILE = """
name: mine
data: builtin
encoder: tiny
seeds: [0]
models: [hashformer-md-proj]
tasks: [sst2]
pretrain: {corpora: [builtin, "texts/*.txt"], steps: 2}
"""


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "b.txt").write_text("the second\nof two lines")
    (folder / "a.txt").write_text("the first")
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n{"text": null}\n{"text": "z"}\n'))
    return folder


def test_a_text_file_is_a_document_and_so_is_a_line_of_jsonl(texts: Path) -> None:
    found = locate_corpus(f"{texts}/*.txt", ())
    assert list(found.documents()) == ["the first", "the second\nof two lines"] and found.n_documents() == 2
    assert list(own_corpus(f"{texts}/c.jsonl.gz").documents()) == ["x", "", "z"]
    assert own_corpus(str(texts)).n_documents() == 5


def test_paths_are_relative_to_the_file_and_no_part_of_a_run(texts: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ids = []
    for folder in (tmp_path, elsewhere):
        if folder is elsewhere:
            texts.rename(elsewhere / "texts")
        (folder / "mine.yaml").write_text(FILE)
        planned = plan(load_experiment(folder / "mine.yaml"))
        ids.append([run.id for run in planned.runs])
        assert str(tmp_path) not in str([run.spec for run in planned.runs])
    assert ids[0] == ids[1]
    (elsewhere / "texts" / "a.txt").write_text("another")
    assert [run.id for run in plan(load_experiment(elsewhere / "mine.yaml")).runs] != ids[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("texts/*.md", "no file has such a name; check the path"),
        ("texts/d.txt", "no such file; check the path"),
        ("notes.pdf/*", "no file has such a name"),
        (
            "texts/odd.pdf",
            "odd.pdf is none of .parquet, .csv, .tsv, .jsonl, .json, .txt, or with .gz or .zst behind it",
        ),
        ("texts/empty.txt", "is an empty file"),
    ],
)
def test_what_is_no_corpus_is_said_with_its_line(texts: Path, name: str, said: str) -> None:
    (texts / "odd.pdf").write_text("x")
    (texts / "empty.txt").write_text("")
    (texts.parent / "mine.yaml").write_text(FILE.replace("texts/*.txt", name))
    with pytest.raises(InputError) as error:
        plan(load_experiment(texts.parent / "mine.yaml"))
    assert "mine.yaml:8: " in str(error.value) and said in str(error.value)


def test_data_list_counts_documents(texts: Path) -> None:
    corpora = texts.parent / "data" / "corpora"
    corpora.mkdir(parents=True)
    texts.rename(corpora / "mine")
    found = {each.name: each.rows for each in available(open_sources(str(corpora.parent))) if each.kind == "corpus"}
    assert found == {"mine": {"documents": 5}}


def test_a_folder_is_read_with_its_subfolders_but_not_what_is_no_document(texts: Path) -> None:
    rows = "".join(f'{{"text": "{letter}"}}\n' for letter in "pq")
    names = ["AA/wiki_00.jsonl", "AB/wiki_00.ndjson", "c4.00000-of-00001.json.gz", "D.JSONL"]
    beside = ["README.txt", "LICENSE", "readme-old.txt", "dataset_infos.json", "notes.pdf", "AA/list.md"]
    hidden = ["._a.parquet", ".ipynb_checkpoints/a.jsonl", "__MACOSX/a.jsonl", "AA/.hidden.jsonl"]
    for name in (*names, *beside, *hidden):
        path = texts / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(rows.encode()) if name.endswith(".gz") else rows.encode())
    corpus = own_corpus(str(texts))
    assert sorted(corpus.documents()) == sorted(["the first", "the second\nof two lines", "x", "", "z", *"pq" * 4])
    first, second = corpus.notes
    assert first.endswith(" and 1 more") and set(first[10:-11].split(", ")) < set(beside)
    assert second == "text files beside tables, each read as one document: a.txt, b.txt"
    assert own_corpus(f"{texts}/*.txt").notes == ("not read: README.txt, readme-old.txt",)
    assert list(own_corpus(f"{texts}/README.txt").documents()) == [rows]  # named by itself
    assert own_corpus(str(texts)).name == "c4.00000-of-00001.json.gz"  # a part of stored runs


def test_shards_of_a_corpus_are_counted_unless_a_pattern_chose_them(tmp_path: Path) -> None:
    for number in (0, 2):
        (tmp_path / f"c4-train.{number:05d}-of-00003.json").write_text('{"text": "a"}\n')
    (tmp_path / "c4-validation.00000-of-00001.json").write_text('{"text": "a"}\n')
    with pytest.raises(
        InputError, match=r"shard 00001 of 3 is missing; put it back, or name those that are there by a"
    ):
        own_corpus(str(tmp_path))
    assert own_corpus(f"{tmp_path}/c4-train.*.json").n_documents() == 2
    (tmp_path / "c4-train.00000-of-00003.jsonl").write_text('{"text": "a"}\n')
    for name in (str(tmp_path), f"{tmp_path}/*.json*"):
        with pytest.raises(InputError, match="are not the shards of one table"):
            own_corpus(name)


@pytest.mark.parametrize(("one", "other"), [("x.jsonl", "x.jsonl.gz"), ("x.jsonl", "x.ndjson"), ("x.txt", "x.txt.zst")])
def test_a_file_beside_its_packed_self_is_refused(tmp_path: Path, one: str, other: str) -> None:
    for name in (one, other):
        (tmp_path / name).write_text('{"text": "a"}\n')
    with pytest.raises(InputError, match="are the same documents; keep one"):
        own_corpus(str(tmp_path))


def test_rows_in_quotes_and_quoted_cells_of_a_corpus_are_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n0,"cold soup\n1,great tea\n2,ends"\n')
    (tmp_path / "b.tsv").write_text('text\tid\n"he said ""no"""\t0\n')
    (tmp_path / "c.jsonl").write_text('{"text": "a"}\n')
    notes = own_corpus(str(tmp_path)).row_notes()
    assert notes == (f"{ROWS_IN_A_CELL}: 1, the first in a.csv, line 2", f"{QUOTED}: 1, the first in b.tsv, line 2")


def test_a_text_of_a_gigabyte_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_TEXT", 10)
    (tmp_path / "a.txt").write_text("x" * 11)
    with pytest.raises(
        InputError, match=r"a\.txt: a text file is one document, and has 10 bytes at most; write its documents"
    ):
        list(own_corpus(str(tmp_path / "a.txt")).documents())


def test_check_names_what_is_passed_over(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (texts / "README.txt").write_text("about the texts")
    (texts.parent / "mine.yaml").write_text(FILE)
    with pytest.raises(SystemExit) as ended:
        main(["check", str(texts.parent / "mine.yaml")])
    assert not ended.value.code
    assert "corpus b.txt: own files b.txt, 2 documents (not read: README.txt)" in capsys.readouterr().out
