from __future__ import annotations

import hashlib
import json
import multiprocessing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.corpora import preparing, tokenizing
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.sources.documents import article
from hashbench.data.sources.sources import Source, open_sources
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.words import WordTokenizer
from tests.damage import DAMAGES

ARTICLES = [
    "The cat saw the dog, the dog saw the cat!!!",
    "",
    "A second article. See also: The cat. References",
    "One",
    "emoji \U0001f600 NUL \0 end, " + "x" * 100_000,
]
BOOKS = ["A book of some words, longer than an article. See also the cat.", "Its second row."]


def sources(folder: Path, **corpora: list[str]) -> tuple[Source, ...]:
    for name, texts in corpora.items():
        (folder / "corpora" / name).mkdir(parents=True, exist_ok=True)
        for i, text in enumerate(texts):  # a file for each document: order across files counts
            pq.write_table(pa.table({"text": [text]}), folder / "corpora" / name / f"{i:03}.parquet")
    return open_sources(str(folder))


def tokens(corpus: Corpus, start: int, end: int) -> list[str]:
    return corpus.types.strings(np.asarray(corpus.ids[start:end]))


def expected(texts: list[str]) -> list[list[str]]:
    return [WordTokenizer().tokenize(text) for text in texts]


@pytest.fixture
def both(tmp_path: Path) -> tuple[Source, ...]:
    return sources(tmp_path / "data", wikipedia=ARTICLES, books=BOOKS)


def test_documents_are_laid_end_to_end(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia", "books"], both, WordTokenizer())
    bounds = made.documents.tolist()
    found = [tokens(made, a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    assert found == expected(ARTICLES + BOOKS)
    assert made.ids.dtype == np.int32


def test_type_table_counts_occurrences(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia"], both, WordTokenizer())
    words = [word for text in expected(ARTICLES) for word in text]
    counts = dict(zip(made.types.strings(), made.types.counts.tolist(), strict=True))
    assert counts == {word: words.count(word) for word in words}
    assert made.types.string(0) == "the"  # five times, more than any other


@pytest.mark.parametrize("chunk", [1, 60, 10**6])
def test_result_does_not_depend_on_the_chunks(
    tmp_path: Path, both: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    whole = prepare(["wikipedia"], both, WordTokenizer(), tmp_path / "whole")
    monkeypatch.setattr(tokenizing, "CHUNK_CHARACTERS", chunk)
    monkeypatch.setattr(preparing, "BLOCK_IDS", 7)
    parts = prepare(["wikipedia"], both, WordTokenizer(), tmp_path / "parts")
    assert np.array_equal(whole.ids, parts.ids)
    assert whole.types.fingerprint == parts.types.fingerprint
    assert whole.manifest == parts.manifest


def test_manifest(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia", "books"], both, WordTokenizer())
    manifest = json.loads((made.folder / "manifest.json").read_text())
    lengths = [len(text) for text in expected(ARTICLES + BOOKS)]
    assert manifest["tokens"] == len(made.ids) == sum(lengths)
    assert manifest["types"] == len(made.types)
    assert manifest["sha256"] == hashlib.sha256((made.folder / "ids.int32").read_bytes()).hexdigest()
    assert manifest["tokenizer"] == WordTokenizer().recipe()
    books = manifest["corpora"][1]
    assert (books["name"], books["documents"], books["tokens"], books["packed"]) == ("books", 2, sum(lengths[5:]), True)
    assert books["characters"] == sum(map(len, BOOKS))
    assert books["origin"] == "folder data/corpora/books"
    assert str(made.folder.parent.parent) not in json.dumps(manifest)  # no path of this machine


def test_first_documents_only(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia", "books"], both, WordTokenizer(), max_documents=1)
    assert [part["documents"] for part in made.manifest["corpora"]] == [1, 1]
    assert tokens(made, 0, len(made.ids)) == sum(expected([ARTICLES[0], BOOKS[0]]), [])


def test_full_packing_cuts_everything_into_pieces(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia", "books"], both, WordTokenizer())
    starts, ends = made.rows(sequence_length=10)
    total = len(made.ids)
    assert starts.tolist() == list(range(0, total, 8))  # ten less the two special tokens
    assert ends.tolist() == [min(start + 8, total) for start in range(0, total, 8)]


def test_first_chunk_of_articles_and_packing_of_books(both: tuple[Source, ...]) -> None:
    made = prepare(["wikipedia", "books"], both, WordTokenizer(), first_chunk_only=True)
    starts, ends = made.rows(sequence_length=8)
    found = [tokens(made, a, b) for a, b in zip(starts, ends, strict=True)]
    articles = [text[:6] for text in expected([article(text) for text in ARTICLES]) if len(text) > 1]
    assert articles[1] == ["a", "second", "article", "."]  # cut before "See also"
    book = sum(expected(BOOKS), [])
    assert found == articles + [book[i : i + 6] for i in range(0, len(book), 6)]


@pytest.mark.parametrize("end", ["See also", "References", "Category"])
def test_an_article_ends_at_the_first_mark(end: str) -> None:
    assert article(f"before {end} after References Category See also") == "before "
    assert article("see also references category") == "see also references category"


def test_made_once(tmp_path: Path, both: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare(["wikipedia"], both, WordTokenizer())
    monkeypatch.setattr(WordTokenizer, "interner", lambda _: pytest.fail("tokenized again"))
    assert prepare(["wikipedia"], both, WordTokenizer()).folder == first.folder


def test_what_makes_another_corpus(both: tuple[Source, ...]) -> None:
    def key(*names: str, tokenizer: WordTokenizer | None = None, **options: int) -> str:
        return prepare(names, both, tokenizer or WordTokenizer(), **options).fingerprint  # type: ignore[arg-type]

    keys = [
        key("wikipedia"),
        key("books"),
        key("books", "wikipedia"),
        key("wikipedia", max_documents=2),
        key("wikipedia", first_chunk_only=True),
        key("wikipedia", tokenizer=WordTokenizer(lowercase=False)),
    ]
    assert len(set(keys)) == len(keys)
    assert key("wikipedia", vocabulary_size=300) == keys[0]  # words have no vocabulary to train


def test_killed_half_way_leaves_nothing_broken(
    tmp_path: Path, both: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(preparing, "write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prepare(["wikipedia"], both, WordTokenizer(), tmp_path / "made")
    assert {path.suffix for path in (tmp_path / "made").iterdir() if path.is_dir()} == {".partial", ".shards"}
    made = prepare(["wikipedia"], both, WordTokenizer(), tmp_path / "made")
    assert len(made.ids) == made.manifest["tokens"]
    assert [path for path in (tmp_path / "made").iterdir() if path.is_dir()] == [made.folder]


def ask(folder: Path, calls: Path) -> None:
    def told(_: str) -> None:
        with calls.open("a") as file:
            file.write("x\n")

    prepare(["wikipedia"], open_sources(str(folder)), WordTokenizer(), progress=told)


def test_several_workers_make_it_once(tmp_path: Path) -> None:
    sources(tmp_path / "data", wikipedia=ARTICLES[:1])
    calls = tmp_path / "calls"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=ask, args=(tmp_path / "data", calls)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert calls.read_text() == "x\n"  # one shard, written once


def test_bpe_is_trained_with_the_corpus_and_found_again(tmp_path: Path, both: tuple[Source, ...]) -> None:
    texts = ["low lower lowest slow slower slowest"] * 20
    data = sources(tmp_path / "bpe", wikipedia=texts)
    first, again = (prepare(["wikipedia"], data, SubwordTokenizer(), vocabulary_size=300) for _ in range(2))
    assert isinstance(again.tokenizer, SubwordTokenizer) and isinstance(first.tokenizer, SubwordTokenizer)
    assert first.tokenizer.pieces == again.tokenizer.pieces
    assert len(again.tokenizer.pieces) <= 295
    assert tokens(again, 0, 6) == again.tokenizer.tokenize(texts[0])[:6]
    other = prepare(["wikipedia"], data, make_tokenizer("bpe"), vocabulary_size=280)
    assert other.folder != first.folder


def test_no_token_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="corpus blank: there is no token in it"):
        prepare(["blank"], sources(tmp_path / "data", blank=["", " \n"]), WordTokenizer())


def files_of(corpus: Corpus) -> list[str]:
    return sorted(str(path.relative_to(corpus.folder)) for path in corpus.folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_corpus_is_made_again(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the ids, or a turned bit in them, would be trained on without a word."""
    data = sources(tmp_path / "bpe", wikipedia=["low lower lowest slow slower slowest"] * 20)
    whole = prepare(["wikipedia"], data, SubwordTokenizer(), vocabulary_size=300)
    names, ids = files_of(whole), whole.ids.tolist()
    assert {"ids.int32", "documents.npy", "manifest.json", "tokenizer/tokenizer.json"} < set(names)
    for name in names:
        DAMAGES[damage](whole.folder / name)
        again = prepare(["wikipedia"], data, SubwordTokenizer(), vocabulary_size=300)
        assert again.ids.tolist() == ids and again.manifest == whole.manifest
        line = capsys.readouterr().err
        # Sums that were damaged themselves speak against the file that they are of
        assert str(whole.folder if name == "files.json" else whole.folder / name) in line and line.count("\n") == 1
