"""data/phrases.py: a corpus as items, made once, split by documents, counted on training documents alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks import phrases
from hashbench.data.tasks.catalogue import locate_task
from hashbench.data.tasks.kinds.phrases import PHRASES
from hashbench.data.tasks.phrases import LocatedPhrases, PhrasesBlock, read_words
from tests.oracles.phrases import listed, segmented

LETTERS = "abcde"
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "ab", "."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a corpus of 40 documents, and a vocabulary of word pieces beside it."""
    random = np.random.RandomState(0)
    words = ["".join(random.choice(list(LETTERS), random.randint(1, 4))) for _ in range(15)] + ["."]
    texts = []
    for _ in range(40):
        parts = [" ".join(random.choice(words, random.randint(1, 25))) for _ in range(random.randint(1, 4))]
        texts.append("\n\n".join(parts))
    (tmp_path / "corpora" / "letters").mkdir(parents=True)
    pq.write_table(pa.table({"text": texts}), tmp_path / "corpora" / "letters" / "part.parquet")
    (tmp_path / "vocab.txt").write_text("\n".join(["[UNK]", "[unused1]", *PIECES]))
    return tmp_path


def located(folder: Path, **protocol: object) -> LocatedPhrases:
    settings = {"corpora": ("letters",), "vocabulary": str(folder / "vocab.txt"), "items": 40} | protocol
    task = replace(PHRASES, protocol=PhrasesBlock(**settings))  # type: ignore[arg-type]
    found = locate_task(task, open_sources(str(folder)))
    assert isinstance(found, LocatedPhrases)
    return found


def texts_of(folder: Path) -> list[list[list[str]]]:
    table = pq.read_table(folder / "corpora" / "letters" / "part.parquet")
    return [[part.split() for part in text.split("\n\n")] for text in table["text"].to_pylist()]


def test_documents_are_the_items_of_plain_python_listed_on_training_documents(folder: Path) -> None:
    data, texts = located(folder).load(), texts_of(folder)
    training = [part for row in data.splits["train"] for part in texts[row]]
    vocabulary = set(listed(training, set(PIECES), 40 - len(PIECES)))
    assert set(data.items.strings()) == vocabulary | set(PIECES)
    counts: Counter[str] = Counter()
    for row, paragraphs in enumerate(texts):
        expected = [each for part in paragraphs for each in segmented(part, vocabulary, set(PIECES))]
        assert data.items.strings(data.pages.text(row)) == expected
        if row in data.splits["train"]:
            counts.update(expected)
    assert [counts[string] for string in data.items.strings()] == data.items.counts.tolist()
    assert np.all(np.diff(data.items.counts) <= 0)


def test_blocks_and_chunks_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = located(folder).load()
    monkeypatch.setattr(phrases, "BLOCK_WORDS", 37)
    monkeypatch.setattr(phrases, "CHUNK_DOCUMENTS", 3)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "another"))
    parts = located(folder).load()
    assert np.array_equal(parts.pages.ids, whole.pages.ids) and np.array_equal(parts.pages.offsets, whole.pages.offsets)
    assert parts.items.fingerprint == whole.items.fingerprint


def test_it_is_made_once_and_described(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = located(folder).load()
    monkeypatch.setattr(phrases, "read_words", lambda *_: pytest.fail("made again"))
    again = located(folder).load()
    assert isinstance(again.pages.ids, np.memmap) and np.array_equal(again.pages.ids, first.pages.ids)
    made = cache / "phrases" / first.fingerprint
    names = {"ids.int32", "documents.npy", "manifest.json", "types", "files.json"}
    assert {path.name for path in made.iterdir()} == names
    manifest = json.loads((made / "manifest.json").read_text())
    assert manifest["key"] == first.fingerprint and list(manifest["corpora"]) == ["letters"]
    assert str(folder) not in json.dumps(manifest)


def test_what_decides_the_items_decides_the_fingerprint(folder: Path) -> None:
    other = {"items": 39, "test_share": 0.2, "split_seed": 1, "max_documents": 30, "vocabulary": None}
    changed = [{}, *({key: value} for key, value in other.items())]
    found = {located(folder, **changes).fingerprint for changes in changed}
    assert len(found) == 1 + len(other)
    assert located(folder, sequence_items=9, next_sentence=False, beams=(1,)).fingerprint in found


def test_word_pieces_are_trained_where_no_vocabulary_is_named(folder: Path, cache: Path) -> None:
    data = located(folder, vocabulary=None, vocabulary_size=300, items=60).load()
    assert len(data.items) == 60 and set(LETTERS) <= set(data.items.strings())
    assert (cache / "phrases" / data.fingerprint / "tokenizer").is_dir()


def test_too_few_documents_are_wrong_input(folder: Path) -> None:
    with pytest.raises(InputError, match="corpus letters: 2 documents are no training, validation and test; give more"):
        located(folder, max_documents=2).load()


def test_a_corpus_without_words_is_wrong_input(folder: Path) -> None:
    pq.write_table(pa.table({"text": ["", " \n", ""]}), folder / "corpora" / "letters" / "part.parquet")
    with pytest.raises(InputError, match="corpus letters: there is no word in it"):
        located(folder).load()


def test_an_unknown_corpus_is_wrong_input(folder: Path) -> None:
    with pytest.raises(InputError, match="corpus 'leters': not in .*; did you mean 'letters'"):
        located(folder, corpora=("leters",))


def test_words_of_documents_without_text(tmp_path: Path) -> None:
    words = read_words(iter(["a b", "", "c\n\nd e"]), tmp_path)
    assert words.documents.tolist() == [0, 2, 2, 5] and words.paragraphs.tolist() == [0, 2, 3]
    assert words.types.strings(words.ids) == ["a", "b", "c", "d", "e"]
