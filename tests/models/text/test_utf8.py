"""Bytes: every byte of UTF-8 is a token."""

from __future__ import annotations

import pytest

from hashbench.models.text.utf8 import ByteTokenizer
from tests.models.text.interning import assert_interns_as_a_dictionary

TEXTS = ["", "Don't  STOP!\n", "naïve é", "日本語 😀", "a\0b <s>", "end\ud800", "x" * 1_000]


@pytest.mark.parametrize("text", TEXTS[:5])
def test_tokens_are_the_bytes_of_the_text(text: str) -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize(text))).decode() == text


def test_a_lone_surrogate_is_replaced() -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize("a\ud800"))).decode() == "a\ufffd"


@pytest.mark.parametrize("cuts", [[7], [1, 3, 7]])
def test_the_interner_equals_one_that_looks_every_byte_up(cuts: list[int]) -> None:
    assert_interns_as_a_dictionary(ByteTokenizer(), TEXTS, cuts)
