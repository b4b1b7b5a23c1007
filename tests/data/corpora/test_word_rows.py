"""Rows of words: the same texts for every tokenizer, in the same batches and order, however many tokens they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.data.corpora import tokenizing
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.corpora.pretraining_data import HELD_OUT_EVERY, PretrainingData
from hashbench.data.sources import documents as shards
from hashbench.data.sources.documents import word_rows
from hashbench.models.embeddings.base import Template
from hashbench.models.objectives.mlm import OBJECTIVE as MLM
from hashbench.models.objectives.shuffle_random import OBJECTIVE as SHUFFLE_RANDOM
from hashbench.models.text.base import make_tokenizer
from tests.data.corpora.test_corpus import sources

TEXTS = st.lists(st.text(st.sampled_from("ab. ,'\n\té\u00a0日\u2003-"), max_size=60), max_size=8)
TEMPLATE = Template()
KINDS = ("words", "bpe", "characters")


@given(TEXTS, st.integers(1, 9))
def test_rows_are_the_words_of_each_document_in_order(documents: list[str], words: int) -> None:
    rows = list(word_rows(documents, words))
    assert [word for row in rows for word in row.split()] == [word for text in documents for word in text.split()]
    expected = [n for text in documents for n in np.diff([*range(0, len(text.split()), words), len(text.split())])]
    assert [len(row.split()) for row in rows] == expected
    assert all(row == row.strip() for row in rows)
    assert all(any(row in text for text in documents) for row in rows)


def documents(n: int) -> list[str]:
    """Texts of 5 to 164 words of different lengths, with marks."""
    random = np.random.RandomState(0)
    marks = ["", "", "", ",", ".", "!?"]
    words = ["".join(random.choice(list("abcdef"), random.randint(1, 9))) for _ in range(900)]
    return [
        " ".join(words[random.randint(900)] + marks[random.randint(6)] for _ in range(5 + i % 160)) for i in range(n)
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    """The same corpus in rows of 16 words, by kind of tokenizer."""
    folder = tmp_path_factory.mktemp("rows")
    data = sources(folder / "data", wikipedia=documents(150), books=["", "   ", *documents(40)])
    return {kind: rows_of(data, kind, folder / kind) for kind in KINDS}


def rows_of(data: Any, kind: str, folder: Path, **options: Any) -> Corpus:
    settings = {"vocabulary_size": 300, "words_per_row": 16, **options}
    return prepare(["wikipedia", "books"], data, make_tokenizer(kind), folder, **settings)


def batches(corpus: Corpus, objective: Any = SHUFFLE_RANDOM, **changes: Any) -> PretrainingData:
    codes = np.arange(len(corpus.types), dtype=np.int64)[:, None]
    settings = {"batch_size": 8, "sequence_length": 512, "seed": 3, **changes}
    return PretrainingData(corpus, codes, objective=objective, template=TEMPLATE, **settings)


def text_of(corpus: Corpus, row: int) -> str:
    """The characters of a row but white space, as its tokens spell them (a BPE's pieces with its own letters)."""
    bounds = corpus.documents[row : row + 2]
    pieces = corpus.types.strings(np.asarray(corpus.ids[bounds[0] : bounds[1]]))
    return "".join("".join(pieces).replace("\u0120", " ").split())


def test_every_tokenizer_has_the_same_texts_in_its_rows(made: dict[str, Corpus]) -> None:
    expected = ["".join(row.split()) for row in word_rows([*documents(150), *documents(40)], 16)]
    assert len(expected) > 3 * HELD_OUT_EVERY
    for corpus in made.values():
        assert [text_of(corpus, row) for row in range(len(corpus.documents) - 1)] == expected
    tokens = [corpus.manifest["tokens"] for corpus in made.values()]
    assert len(set(tokens)) == 3, "tokenizers give other numbers of tokens"


@pytest.mark.parametrize("objective", [SHUFFLE_RANDOM, MLM])
def test_batches_hold_the_same_rows_in_the_same_order(made: dict[str, Corpus], objective: Any) -> None:
    plans = [[rows.tolist() for rows in batches(corpus, objective)._plan(epoch=1)] for corpus in made.values()]
    assert plans[0] == plans[1] == plans[2]
    data = [batches(corpus, objective) for corpus in made.values()]
    assert len({each.steps_per_epoch for each in data}) == len({each.n_trained for each in data}) == 1
    for each in data:
        seen = [batch.row_ids.tolist() for batch in each.train_dataloader()]
        assert sorted(row for rows in seen for row in rows) == list(range(each.n_trained))


@pytest.mark.parametrize("objective", [SHUFFLE_RANDOM, MLM])
def test_padding_is_masked_has_no_label_and_is_no_token(made: dict[str, Corpus], objective: Any) -> None:
    data = batches(made["words"], objective)
    lengths, read, padded = data.row_lengths() + 2, 0, 0
    for number, batch in enumerate(data.train_dataloader(), start=1):
        assert batch.mask.sum(1).tolist() == lengths[batch.row_ids.numpy()].tolist()
        assert (batch.labels[~batch.mask] == -100).all()
        read, padded = read + int(batch.mask.sum()), padded + int((~batch.mask).sum())
        assert data.tokens_read(number) == read
    assert padded > 0
    assert data.tokens_read(2 * number) == 2 * read


def test_rows_of_similar_size_share_a_batch(made: dict[str, Corpus]) -> None:
    for corpus in made.values():
        data = batches(corpus)
        lengths = data.row_lengths()
        sorted_, any_order = (
            sum(len(rows) * int(lengths[rows].max()) for rows in plan)
            for plan in (data._plan(0), np.array_split(np.random.RandomState(0).permutation(len(lengths)), 60))
        )
        assert sorted_ < any_order


def test_held_out_rows_are_never_trained_on_and_equal_for_all(made: dict[str, Corpus]) -> None:
    held = []
    for corpus in made.values():
        data = batches(corpus)
        texts = {(int(start), int(end)) for start, end in zip(data.starts, data.ends, strict=True)}
        out = list(zip(data.starts[data.n_trained :], data.ends[data.n_trained :], strict=True))
        assert len(texts) == len(data.starts)
        held.append([int(np.searchsorted(corpus.documents, start, side="left")) for start, _ in out])
        of_seed = [
            [batch.labels.tolist() for batch in batches(corpus, seed=seed).held_out_batches()] for seed in (0, 9)
        ]
        assert of_seed[0] == of_seed[1], "corrupted alike whatever the seed"
    assert held[0] == held[1] == held[2] == list(range(1, len(made["words"].documents) - 1, HELD_OUT_EVERY))


def test_a_row_that_is_too_long_is_cut_and_counted(made: dict[str, Corpus]) -> None:
    corpus = made["characters"]
    whole, short = batches(corpus), batches(corpus, sequence_length=34)
    assert facts(whole)["tokens_cut"] == 0 and whole.row_lengths().max() > 32
    assert short.row_lengths().tolist() == np.minimum(whole.row_lengths(), 32).tolist()
    lost = np.diff(corpus.documents)
    assert facts(short)["tokens_cut"] == pytest.approx(1 - np.minimum(lost, 32).sum() / lost.sum())
    assert [rows.tolist() for rows in short._plan(0)] == [rows.tolist() for rows in whole._plan(0)]


def facts(data: PretrainingData) -> dict[str, float | None]:
    return {fact.name: fact.value for fact in data.facts()}


def test_a_position_is_trained_where_one_row_in_a_hundred_reaches_it(made: dict[str, Corpus]) -> None:
    for corpus in made.values():
        data = batches(corpus)
        lengths, trained = data.ends - data.starts + 2, facts(data)["positions_trained"]
        assert trained is not None
        assert (lengths >= trained).mean() >= 0.01 > (lengths > trained).mean()
    assert facts(batches(made["characters"], sequence_length=34))["positions_trained"] == 34


def test_a_packed_corpus_holds_nothing_out(made: dict[str, Corpus], tmp_path: Path) -> None:
    data = sources(tmp_path / "data", wikipedia=documents(20), books=["a b"])
    packed = batches(rows_of(data, "words", tmp_path / "made", words_per_row=None), sequence_length=10)
    assert packed.n_trained == len(packed.starts) and not list(packed.held_out_batches()) and not packed.facts()


def test_the_corpus_depends_on_texts_and_words_alone(
    made: dict[str, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = sources(tmp_path / "data", wikipedia=documents(150), books=["", "   ", *documents(40)])
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)
    monkeypatch.setattr(tokenizing, "CHUNK_CHARACTERS", 20)
    monkeypatch.setenv("HASHBENCH_THREADS", "1")
    again = rows_of(data, "words", tmp_path / "made")
    assert again.fingerprint == made["words"].fingerprint
    for name in ("ids", "documents", "sizes"):
        assert np.array_equal(getattr(again, name), getattr(made["words"], name))
    other = rows_of(data, "words", tmp_path / "made", words_per_row=17)
    packed = rows_of(data, "words", tmp_path / "made", words_per_row=None)
    assert len({again.fingerprint, other.fingerprint, packed.fingerprint}) == 3


def test_documents_are_limited_before_they_are_cut(tmp_path: Path) -> None:
    data = sources(tmp_path / "data", wikipedia=documents(20), books=documents(3))
    corpus = rows_of(data, "words", tmp_path / "made", max_documents=2)
    assert len(corpus.documents) - 1 == len(list(word_rows([*documents(2), *documents(2)], 16)))
