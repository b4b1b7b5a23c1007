"""data/perturbations/unicode.py: what hardly shows, on words by hand and against plain slow versions."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.data.perturbations.base import WORD, find_perturbation, perturbed
from hashbench.data.perturbations.unicode import LOOK_ALIKES, look_alike, without_diacritics, zero_width
from hashbench.data.tasks.noise import TrainingNoise
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.file_blocks import Robustness

NAMES = ("zero-width", "look-alike", "diacritics")
ZERO = "\u200b"
WORDS = st.from_regex(WORD, fullmatch=True)
DRAWS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("naïve", "naive"), ("Über", "Uber"), ("Việt", "Viet"), ("ångström", "angstrom"), ("é", "e"),
        ("cafe\u0301", "cafe"),  # decomposed
        ("й", "и"), ("が", "か"), ("naive", None), ("Łódź", "Łodz"), ("łø", None), ("한국", None), ("日本", None),
    ],
)  # fmt: skip
def test_diacritics_by_hand(word: str, plain: str | None) -> None:
    assert without_diacritics(word, 5) == plain


@given(WORDS, DRAWS)
def test_a_word_without_diacritics_has_no_mark_and_loses_no_letter(word: str, draw: int) -> None:
    after = without_diacritics(word, draw)
    marks = [letter for letter in unicodedata.normalize("NFD", word) if unicodedata.combining(letter)]
    if after is None:
        return
    assert marks and not any(unicodedata.combining(letter) for letter in unicodedata.normalize("NFD", after))
    assert unicodedata.is_normalized("NFC", after)
    letters = [letter for letter in unicodedata.normalize("NFD", word) if letter not in marks]
    assert list(unicodedata.normalize("NFD", after)) == letters
    assert without_diacritics(after, draw) is None


def test_every_look_alike_is_one_of_a_table_of_24() -> None:
    assert len(LOOK_ALIKES) == len(set(LOOK_ALIKES.values())) == 24
    for latin, other in LOOK_ALIKES.items():
        assert unicodedata.name(latin).startswith("LATIN") and unicodedata.name(other).startswith("CYRILLIC")
        assert latin.isupper() == other.isupper()


@given(WORDS, DRAWS)
def test_one_letter_becomes_its_look_alike(word: str, draw: int) -> None:
    after = look_alike(word, draw)
    every = [word[:i] + LOOK_ALIKES[a] + word[i + 1 :] for i, a in enumerate(word) if a in LOOK_ALIKES]
    assert (after in every) if every else after is None


def test_every_letter_may_become_a_look_alike() -> None:
    assert {look_alike("cat", draw) for draw in range(9)} == {"\u0441at", "c\u0430t"}


@given(WORDS, DRAWS)
def test_a_zero_width_space_is_inside_a_word(word: str, draw: int) -> None:
    after = zero_width(word, draw)
    every = [f"{word[:i]}{ZERO}{word[i:]}" for i in range(1, len(word))]
    assert (after in every) if every else after is None


def test_they_are_named_and_no_default() -> None:
    assert not set(NAMES) & set(Robustness().perturbations)
    assert Robustness(perturbations=NAMES).perturbations == NAMES
    assert [TrainingNoise(kind=name, rate=0.5).kind for name in NAMES] == list(NAMES)
    assert all(find_perturbation(name).words for name in NAMES)
    assert perturbed("Café, naïve!", "diacritics", [0.0, 1.0], seed=0) == ["Café, naïve!", "Cafe, naive!"]


@pytest.mark.parametrize(
    ("kind", "options", "zero", "diacritics"),
    [
        ("words", {}, ["p", ZERO, "é"], ["pe"]),
        ("unicode", {}, ["p", "é"], ["pe"]),
        ("spaces", {}, [f"p{ZERO}é"], ["pe"]),
        ("characters", {}, ["p", ZERO, "é"], ["p", "e"]),
        ("bytes", {}, ["p", "â", "\x80", "\x8b", "Ã", "©"], ["p", "e"]),
    ],
)
def test_tokens_of_such_words_as_the_documentation_lists_them(kind, options, zero, diacritics) -> None:
    tokenizer = make_tokenizer(kind, **options)
    assert tokenizer.tokenize(zero_width("pé", 0)) == zero
    assert tokenizer.tokenize(without_diacritics("pé", 0)) == diacritics


def test_bert_normalisation_drops_the_zero_width_space_and_the_accents() -> None:
    pieces = make_tokenizer("wordpieces")
    pieces.train(iter(["the café was near the river"] * 50), 200)
    plain = pieces.tokenize("café")
    assert pieces.tokenize(zero_width("café", 1)) == pieces.tokenize(without_diacritics("café", 0)) == plain
    assert pieces.tokenize(look_alike("café", 1)) != plain


def test_bytes_of_a_zero_width_space_are_pieces_of_bpe() -> None:
    bpe = make_tokenizer("bpe")
    bpe.train(iter(["the cafe was near the river"] * 50), 300)
    assert len(bpe.tokenize(zero_width("cafe", 1))) > len(bpe.tokenize("cafe"))
