"""CoNLL files line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.files import sentences

WHERE = Path("train.conll")


def read(text: str, columns: tuple[str, ...] = ("tokens", "tags")) -> list[tuple[object, ...]]:
    return list(sentences(WHERE, text.splitlines(keepends=True), columns))


def test_words_and_last_columns() -> None:
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\n# NN I-NP O\n"
    assert read(text) == [(["EU", "rejects"], ["B-ORG", "O"]), (["#"], ["O"])]
    assert read(text, ("tags",)) == [(["B-ORG", "O"],), (["O"],)]


def test_comments_before_a_sentence_are_left_out() -> None:
    assert read("# id 12 domain=train\n# text = a b\na\tO\nb\tB-x\n\n\n") == [(["a", "b"], ["O", "B-x"])]


def test_tabs_part_columns_where_there_are_some() -> None:
    assert read("New York\tB-x\n") == [(["New York"], ["B-x"])]


def test_a_line_without_a_tag() -> None:
    with pytest.raises(InputError, match=r"^train\.conll:2: 'b' has no tag; a line is a word, then its tag"):
        read("a O\nb\n")


def test_another_column() -> None:
    with pytest.raises(InputError, match=r"^train\.conll: no column 'text'; a CoNLL file has tokens"):
        read("a O\n", ("text",))


def test_no_sentence_is_lost_behind_a_document_or_a_hashtag() -> None:
    assert read("-DOCSTART- -X- O O\nEU NNP B-ORG\n\n-DOCSTART-\n\na O\n") == [(["EU"], ["B-ORG"]), (["a"], ["O"])]
    assert read("#id O\n#newpar B-x\n\n#a=b O\n") == [(["#id", "#newpar"], ["O", "B-x"]), (["#a=b"], ["O"])]
