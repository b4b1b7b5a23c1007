"""Corpora of one's own files: named by a path, known by their content."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.documents import own_corpus
from hashbench.data.sources.sources import locate_corpus, open_sources
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
        ("texts/odd.pdf", "odd.pdf is none of .parquet, .csv, .tsv, .jsonl, .txt, or with .gz or .zst behind it"),
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
