"""data/tasks/split_facts.py: tokens, texts cut and characters lost, against plain Python that knows no array."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.common.measured import TextCounts, TextsRead
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.kinds.tagging import KIND as TAGGING
from hashbench.data.tasks.split_facts import length_that_keeps, texts_read
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.embeddings.base import Template
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.wordpieces import WordPieceTokenizer

BARE = Template(single=("A",), pair=("A", "B"), truncation="longest_first")
TEXTS = st.lists(st.text("ab .,'é\u0301Σİß漢😀\t\ud83d", max_size=12), min_size=1, max_size=6)
CORPUS = ["the cat sat on the mat", "Hüte und Katzen: the hat of the cat", "漢字 and 😀"] * 5


def task_of(*columns: Sequence[str], train: Sequence[str] = ("one two",)) -> TaskData:
    """A task of texts or pairs with these texts as its validation split."""
    task = find_task("cola" if len(columns) == 1 else "rte")
    splits = {
        "train": Split(tuple(list(train) for _ in columns), np.zeros(len(train), np.int64)),
        "validation": Split(tuple(map(list, columns)), np.zeros(len(columns[0]), np.int64)),
    }
    return TaskData(task, splits, repr((columns, train)), "here", "own")


def ends_of_words(text: str) -> list[int]:
    """Where each match of the default pattern ends in a text; İ is two characters once it is lower-cased."""
    lowered = [i for i, character in enumerate(text) for _ in character.lower()]
    return [lowered[match.end() - 1] + 1 for match in re.finditer(r"\w+|[^\w\s]+", text.lower())]


def ends_of_bytes(text: str) -> list[int]:
    """The number of characters that have begun at each byte."""
    return [number for number, character in enumerate(text, 1) for _ in character.encode()]


def ends_of_characters(text: str) -> list[int]:
    return list(range(1, len(text) + 1))


ENDS: dict[str, Callable[[str], list[int]]] = {
    "words": ends_of_words,
    "bytes": ends_of_bytes,
    "characters": ends_of_characters,
}


def plain_counts(columns: Sequence[Sequence[str]], ends: Callable[[str], list[int]], length: int) -> TextCounts:
    """The counts, row by row: the longer text of a pair loses its last token until both fit."""
    cut = tokens = tokens_lost = characters = lost = 0
    for row in zip(*columns, strict=True):
        texts = [well_formed(text) for text in row]
        places = [ends(text) for text in texts]
        kept = [len(of_text) for of_text in places]
        while sum(kept) > length:
            kept[0 if len(kept) == 1 or kept[0] > kept[1] else 1] -= 1
        for text, of_text, n in zip(texts, places, kept, strict=True):
            tokens, tokens_lost = tokens + len(of_text), tokens_lost + len(of_text) - n
            characters += len(text)
            if n < len(of_text):
                cut += 1
                lost += len(text) - (of_text[n - 1] if n else 0)
    return TextCounts(len(columns) * len(columns[0]), cut, tokens, tokens_lost, characters, lost)


@pytest.mark.parametrize("kind", ENDS)
@given(first=TEXTS, seconds=st.none() | st.lists(st.text("ab \u0301é😀", max_size=12), min_size=6, max_size=6),
       length=st.integers(1, 9))  # fmt: skip
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_counts_are_those_of_plain_python(kind: str, first: list[str], seconds: list[str] | None, length: int) -> None:
    columns = (first,) if seconds is None else (first, seconds[: len(first)])
    read = texts_read(task_of(*columns), make_tokenizer(kind), BARE, length)
    assert read.max_length == length
    assert read.splits["validation"] == plain_counts(columns, ENDS[kind], length)


@pytest.mark.parametrize("kind", ENDS)
@given(text=st.text("ab .,'é\u0301Σİß漢😀\t", max_size=20))
def test_tokens_end_where_plain_python_says(kind: str, text: str) -> None:
    ends = ENDS[kind](text)
    kept = range(len(ends) + 1)
    assert make_tokenizer(kind).reach([text] * len(kept), kept) == [0, *ends]


def test_special_tokens_take_their_share_of_the_limit() -> None:
    read = texts_read(task_of(["one two three four", "five"]), make_tokenizer("words"), Template(), 5)
    assert read.splits["validation"] == TextCounts(2, 1, 5, 1, 22, len(" four"))


def test_text_that_is_read_whole_loses_no_white_space() -> None:
    read = texts_read(task_of(["one two  \n ", ""]), make_tokenizer("words"), BARE, 2)
    assert read.splits["validation"] == TextCounts(2, 0, 2, 0, 11, 0)


def test_pairs_lose_from_the_longer_text_by_the_rule_of_the_template() -> None:
    first, second = "a b c d e f g", "h i"
    for truncation, kept in (("balanced", "a b"), ("longest_first", "a b c"), ("longer_keeps", "a b c")):
        template = replace(BARE, truncation=truncation)
        counts = texts_read(task_of([first], [second]), make_tokenizer("words"), template, 5).splits["validation"]
        assert counts == TextCounts(2, 1, 9, 7 - len(kept.split()), 16, len(first) - len(kept))


def test_pieces_of_bytes_end_at_the_character_that_holds_their_last_byte() -> None:
    """A piece spells each byte as one character."""
    tokenizer = SubwordTokenizer()
    tokenizer.train(CORPUS, vocabulary_size=5 + 256 + 12)
    for text in ("the cat sat", " Hüte, 漢字 😀!", "x\n\nthe   mat"):
        n_bytes = np.cumsum([len(piece) for piece in tokenizer.tokenize(text)])
        ends = [0, *(ends_of_bytes(text)[n - 1] for n in n_bytes)]
        assert tokenizer.reach([text] * len(ends), range(len(ends))) == ends


def test_word_pieces_end_in_the_text_as_it_is_and_not_in_its_normal_form() -> None:
    tokenizer = WordPieceTokenizer()
    tokenizer.train(["the cat sat"] * 5, vocabulary_size=40)
    text = "Thé  cat\u0301, sat"
    assert tokenizer.tokenize(text)[:2] == ["the", "cat"]
    assert [text[:end] for end in tokenizer.reach([text, text], [1, 2])] == ["Thé", "Thé  cat"], (
        "the mark is in no token"
    )


def test_unknown_word_is_read_with_its_whole_length() -> None:
    tokenizer = WordPieceTokenizer()
    tokenizer.train(["the cat sat"] * 5, vocabulary_size=40)
    assert tokenizer.tokenize("the ☃☃☃☃ cat") == ["the", "[UNK]", "cat"]
    assert tokenizer.reach(["the ☃☃☃☃ cat"], [2]) == [8]


def test_words_with_tags_are_cut_between_and_within_words() -> None:
    task = replace(find_task("cola"), kind=TAGGING, label_names=("O", "B-a"), n_classes=2)
    labels = np.empty(2, object)
    labels[:] = [(0, 0, 1), (0,)]
    part = Split((["don't stop here", "x"],), labels)
    data = TaskData(task, {"train": part, "validation": part}, "tags", "here", "own")
    counts = texts_read(data, make_tokenizer("words"), BARE, 2).splits["train"]
    assert counts == TextCounts(2, 1, 6, 3, 16, len("t stop here"))
    assert texts_read(data, make_tokenizer("words"), BARE, 4).splits["train"].characters_lost == len(" here")


@pytest.mark.parametrize(("keep", "at_most", "length"), [(1.0, 512, 20), (0.9, 512, 17), (0.9, 12, 12), (0.1, 512, 8)])
def test_least_length_that_keeps_a_share_of_the_tokens_of_train(keep: float, at_most: int, length: int) -> None:
    """Of 30 tokens, texts of 20 and 10: 17 tokens an input keep 27."""
    data = task_of(["of no account " * 40], train=[" ".join(20 * "a"), " ".join(10 * "b")])
    tokenizer = make_tokenizer("words")
    assert length_that_keeps(data, tokenizer, BARE, keep=keep, at_most=at_most) == length


def test_counts_survive_a_note_and_a_record() -> None:
    read = texts_read(task_of(["one two three"]), make_tokenizer("words"), BARE, 2)
    assert TextsRead.of_notes({"texts_read": read.note()}) == read == TextsRead.of_record(read.record())
    assert TextsRead.of_notes({"origin": "x"}) is None


def test_encoded_task_is_shared_with_a_training(cache: Path) -> None:
    texts_read(task_of(["one two three"]), make_tokenizer("words"), BARE, 2)
    assert len([entry for entry in (cache / "tasks").iterdir() if entry.is_dir()]) == 1
