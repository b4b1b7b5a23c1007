"""Bytes: every byte of UTF-8 is a token."""

from __future__ import annotations

import pytest

from hashbench.text.types import DictInterner
from hashbench.text.utf8 import ByteTokenizer

TEXTS = ["", "Don't  STOP!\n", "naïve é", "日本語 😀", "a\0b <s>", "end\ud800", "x" * 1_000]


@pytest.mark.parametrize("text", TEXTS[:5])
def test_tokens_are_the_bytes_of_the_text(text: str) -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize(text))).decode() == text


def test_a_lone_surrogate_is_replaced() -> None:
    assert bytes(map(ord, ByteTokenizer().tokenize("a\ud800"))).decode() == "a\ufffd"


@pytest.mark.parametrize("cuts", [[7], [1, 3, 7]])
def test_the_interner_equals_one_that_looks_every_byte_up(cuts: list[int]) -> None:
    tokenizer = ByteTokenizer()
    fast, plain = tokenizer.interner(), DictInterner(tokenizer.tokenize)
    parts, start = [], 0
    for stop in cuts:
        parts.append((fast.add(TEXTS[start:stop]), plain.add(TEXTS[start:stop])))
        start = stop
    (types, remap), (expected, other) = fast.finish(), plain.finish()
    assert types.strings() == expected.strings() and types.counts.tolist() == expected.counts.tolist()
    for found, wanted in parts:
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.remapped(remap).ids.tolist() == wanted.remapped(other).ids.tolist()
