"""Characters and bytes as tokens."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.models.text.characters import ByteTokenizer, CharacterTokenizer
from tests.models.text.interning import assert_interns_as_a_dictionary

TEXTS = [
    "",
    "Don't  STOP!\n",
    "naïve İ Σ e\u0301",
    "日本語 😀👩‍👩‍👧",
    "a\0b [MASK] \ue000",
    "end\ud800 pair\ud83d\ude00",
    "x" * 10_000,
]


def test_nothing_is_changed_or_left_out() -> None:
    tokenizer = CharacterTokenizer()
    assert tokenizer.tokenize("A b\t[MASK]") == ["A", " ", "b", "\t", "[", "M", "A", "S", "K", "]"]
    assert tokenizer.tokenize("x\ud83d\ude00\ud800") == ["x", "😀", "\ufffd"]  # a pair means one character


@pytest.mark.parametrize("cuts", [[7], [1, 3, 7], [0, 5, 6, 7]])
def test_the_interner_equals_one_that_looks_every_character_up(cuts: list[int]) -> None:
    assert_interns_as_a_dictionary(CharacterTokenizer(), TEXTS, cuts)


def test_provisional_ids_are_code_points() -> None:
    assert CharacterTokenizer().interner().add(["a😀", "b"]).ids.tolist() == [97, 0x1F600, 98]


def test_surrogates_of_two_texts_do_not_join() -> None:
    assert CharacterTokenizer().interner().add(["\ud83d", "\ude00"]).ids.tolist() == [0xFFFD, 0xFFFD]


def test_no_text_gives_no_types() -> None:
    interner = CharacterTokenizer().interner()
    assert len(interner.add(["", ""]).ids) == 0 and len(interner.add([]).ids) == 0
    types, remap = interner.finish()
    assert len(types) == 0 and np.all(remap == -1)


BYTE_TEXTS = ["", "Don't  STOP!\n", "naïve é", "日本語 😀", "a\0b <s>", "end\ud800", "x" * 1_000]


@pytest.mark.parametrize("text", BYTE_TEXTS[:5])
def test_tokens_are_the_bytes_of_the_text(text: str) -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize(text))).decode() == text


def test_a_lone_surrogate_is_replaced() -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize("a\ud800"))).decode() == "a\ufffd"


@pytest.mark.parametrize("cuts", [[7], [1, 3, 7]])
def test_the_interner_equals_one_that_looks_every_byte_up(cuts: list[int]) -> None:
    assert_interns_as_a_dictionary(ByteTokenizer(), BYTE_TEXTS, cuts)
