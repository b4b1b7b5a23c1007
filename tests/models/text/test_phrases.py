"""models/text/phrases.py: words as BERT makes them, the list of words and pairs, segmentation against plain Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import normalizers, pre_tokenizers

from hashbench.models.text.phrases import UNKNOWN_ID, PairCounts, Phrases, choose, frequent_words, paragraphs
from hashbench.models.text.types import TypeTable
from hashbench.models.text.wordpieces import WordPieceTokenizer
from hashbench.models.text.words import WordTokenizer
from tests.oracles.phrases import listed, segmented

LETTERS = "abcdef"
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "ab", "##cd", ".", ",", "fed"]


@pytest.fixture
def pieces(tmp_path: Path) -> WordPieceTokenizer:
    reserved = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (tmp_path / "vocab.txt").write_text("\n".join([*reserved, *PIECES]))
    return WordPieceTokenizer(str(tmp_path / "vocab.txt"))


def random_paragraphs(seed: int, n: int = 120) -> list[list[str]]:
    random = np.random.RandomState(seed)
    words = ["".join(random.choice(list(LETTERS), random.randint(1, 4))) for _ in range(25)] + [".", ",", "fed", "xyz"]
    weights = 1.0 / np.arange(1, len(words) + 1)
    return [list(random.choice(words, random.randint(1, 30), p=weights / weights.sum())) for _ in range(n)]


def made(texts: list[list[str]], pieces: WordPieceTokenizer, wanted: int) -> tuple[Phrases, np.ndarray, np.ndarray]:
    interner = WordTokenizer("whitespace", lowercase=False).interner()
    found = interner.add([" ".join(words) for words in texts])
    words, remap = interner.finish()
    ids = remap[found.ids]
    begins = np.zeros(len(ids), bool)
    begins[found.offsets[:-1]] = True
    counts = np.bincount(ids, minlength=len(words))
    pairs = PairCounts(frequent_words(words, counts, pieces, max(1, wanted - len(PIECES))))
    for start, end in zip(found.offsets[:-1:7], [*found.offsets[7::7], found.offsets[-1]], strict=False):
        pairs.add(ids[start:end], begins[start:end])
    return choose(words, counts, pairs, pieces, wanted), ids, begins


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wanted", [0, 1, 30, 60, 10_000])
def test_the_list_and_the_segmentation_are_those_of_plain_python(
    pieces: WordPieceTokenizer, seed: int, wanted: int
) -> None:
    texts = random_paragraphs(seed)
    phrases, ids, begins = made(texts, pieces, len(PIECES) + wanted)
    expected = listed(texts, set(PIECES), wanted)
    assert phrases.strings == [*PIECES, *expected]
    items, offsets = phrases.segment(ids, begins)
    spelled = [phrases.strings[i] if i >= 0 else "[UNK]" for i in items]
    assert spelled == [each for words in texts for each in segmented(words, set(expected), set(PIECES))]
    assert UNKNOWN_ID in items or wanted > 1  # "xyz" has no pieces; in a longer list it is a word
    assert offsets[-1] == len(items) and len(offsets) == len(ids) + 1


def test_a_run_of_pairs_is_read_from_the_left(pieces: WordPieceTokenizer) -> None:
    """a_b, b_a, a_a are listed: of "b a b a a" come b_a, b_a, a; of "a a a" a_a, a."""
    texts = [["a", "b", "a", "a"]] * 3 + [["b", "a", "b", "a", "a"], ["a", "a", "a"]]
    phrases, ids, begins = made(texts, pieces, len(PIECES) + 3)
    items, _ = phrases.segment(ids, begins)
    assert set(phrases.strings[len(PIECES) :]) == {"a_b", "b_a", "a_a"}
    assert [phrases.strings[i] for i in items[-5:]] == ["b_a", "b_a", "a", "a_a", "a"]


def test_a_paragraph_and_a_mark_end_every_pair(pieces: WordPieceTokenizer) -> None:
    phrases, ids, begins = made([["a"], ["b"], ["c", ".", "d"]] * 5, pieces, len(PIECES) + 9)
    assert phrases.strings == PIECES  # c . and . d are no pairs, a b stand in two paragraphs


def test_nothing_is_listed_where_the_pieces_are_enough(pieces: WordPieceTokenizer) -> None:
    assert made(random_paragraphs(0), pieces, 3)[0].strings == PIECES


def test_no_words_have_no_items(pieces: WordPieceTokenizer) -> None:
    phrases, *_ = made([["a", "b"]], pieces, len(PIECES) + 3)
    items, offsets = phrases.segment(np.zeros(0, np.int32), np.zeros(0, bool))
    assert len(items) == 0 and offsets.tolist() == [0]


@pytest.mark.parametrize(
    "text",
    ["Hello, World! (it's)", "ÀÉÎ naïve café", "snake_case $5.00 — “quoted” 50%", "日本語 text", "a\tb\u00a0c", ""],
)
def test_words_are_those_of_berts_basic_tokenizer(text: str) -> None:
    normal = normalizers.BertNormalizer(lowercase=True).normalize_str(text)
    expected = [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)]
    assert " ".join(paragraphs(text)).split() == expected


def test_blank_lines_part_paragraphs_and_line_ends_do_not() -> None:
    assert paragraphs("One\ntwo.\n \n\nThree\ud800") == ["one two .", "three"]  # BERT drops what is no character


def test_an_empty_table_has_no_frequent_words(pieces: WordPieceTokenizer) -> None:
    assert frequent_words(TypeTable.from_counts({}), np.zeros(0, np.int64), pieces, 5).tolist() == []
