"""CoNLL files line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.conll import sentences

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


def at(text: str, word: int, tag: int) -> list[tuple[object, ...]]:
    return list(sentences(WHERE, text.splitlines(keepends=True), ("tokens", "tags"), (word, tag)))


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u202f", "\u2007", "\u2009"])
def test_only_blanks_and_tabs_part_cells(blank: str) -> None:
    for between in (" ", "\t", "  "):
        assert read(f"10{blank}000{between}B-NUM\nx{between}O\n") == [([f"10{blank}000", "x"], ["B-NUM", "O"])]
    assert read(f"{blank}\tO\n") == [([blank], ["O"])]
    assert read(f"a O\n{blank}\nb O\n") == [(["a"], ["O"]), (["b"], ["O"])]  # an empty line to the eye


COUNTED = "#\thttp://de.example.org/0 [2009-10-17]\n1\tAda\tB-PER\tO\n2\tmet\tO\tO\n\n1\tRome\tB-LOC\tO\n\n"
FROM_0 = COUNTED.replace("1\t", "0\t").replace("2\t", "1\t")
UNIVERSAL = "# text = im Haus\n1-2\tim\t_\t_\n1\tin\tX\tO\n2\tdem\tX\tO\n3\tHaus\tX\tB-x\n3.1\tzu\tX\t_\n\n"


@pytest.mark.parametrize("text", [COUNTED, UNIVERSAL, COUNTED.replace("\t", " "), FROM_0])
def test_a_first_column_that_counts_is_no_word(text: str) -> None:
    with pytest.raises(InputError, match=r"^train\.conll: its first column counts the words; name the columns"):
        read(text)


WEBANNO = "1-1\t0-2\tEU\tB-ORG\n1-2\t3-10\trejects\tO\n\n2-1\t11-13\tGo\tO\n2-2\t14-15\ton\tO\n"


@pytest.mark.parametrize("cell", ["{n}", "{n}.", "0{n}", "t{n}", "({n})", "2-{n}", "s1-t{n}"])
@pytest.mark.parametrize(("start", "step"), [(0, 1), (1, 1), (3, 1), (10, 10)])
def test_first_cells_that_rise_are_no_words(cell: str, start: int, step: int) -> None:
    text = "".join(f"{cell.format(n=start + step * n)} {word} O\n" for n, word in enumerate(["we", "go", "on"]))
    with pytest.raises(InputError, match=r"^train\.conll: its first column counts the words; name the columns"):
        read(f"{text}\n{text}\n{cell.format(n=1)} Yes O\n")


@pytest.mark.parametrize("name", ["S1", "bc/cnn/00/cnn_0001", "doc"])
def test_first_cells_that_are_all_the_same_are_no_words(name: str) -> None:
    with pytest.raises(InputError, match="its first column is the same in each line of a sentence; name the columns"):
        read(f"{name} EU B-ORG\n{name} rejects O\n\n{name} Yes O\n\n{name} go O\n{name} on O\n")


def test_only_ranges_of_counted_words_are_left_out() -> None:
    assert at("5-1 won O\nin in O\n", 2, 3) == [(["won", "in"], ["O", "O"])]
    assert at(WEBANNO, 3, 4) == [(["EU", "rejects"], ["B-ORG", "O"]), (["Go", "on"], ["O", "O"])]
    assert at("2-3 du _\n\n1 a O\n", 2, 3) == [(["a"], ["O"])]


def test_columns_by_their_number() -> None:
    assert at(COUNTED, 2, 3) == [(["Ada", "met"], ["B-PER", "O"]), (["Rome"], ["B-LOC"])]
    assert at(COUNTED, 2, 4) == [(["Ada", "met"], ["O", "O"]), (["Rome"], ["O"])]
    assert at(UNIVERSAL, 2, 4) == [(["in", "dem", "Haus"], ["O", "O", "B-x"])]
    assert at("1 O\n2 B-x\n", 1, 2) == [(["1", "2"], ["O", "B-x"])]  # words that are numbers
    with pytest.raises(InputError, match=r"^train\.conll:1: 'a O' has no column 5"):
        at("a O\n", 1, 5)


def test_words_that_are_numbers_now_and_then_are_words() -> None:
    assert len(read("1 O\n2 O\n\na O\n\nb O\n")) == 3


def test_what_begins_with_a_hash_is_a_word_where_it_has_the_cells_of_one() -> None:
    assert read("# = O\na NN O\n") == [(["#", "a"], ["O", "O"])]
    assert read("#\tO\na\tO\n") == [(["#", "a"], ["O", "O"])]
    assert read("# a title of five words\n# and more\na O\nb B-x\n") == [(["a", "b"], ["O", "B-x"])]
    assert read("a O\n\n# of mine\n\nb O\n") == [(["a"], ["O"]), (["b"], ["O"])]
    assert read("a O\n# O\n") == [(["a", "#"], ["O", "O"])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("New York B-LOC\nx O\n", r":2: 2 cells, the sentence begins with 3; part cells by tabs"),
        ("x O\nNew York B-LOC\n", r":2: 3 cells, the sentence begins with 2"),
        ("a\tO\n\tO\n", r":2: the word before tag 'O' is empty"),
    ],
)
def test_a_line_that_is_like_no_other(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^train\.conll{said}"):
        read(text)
