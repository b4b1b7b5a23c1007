"""Lengths of tokens, and what is said of them."""

from __future__ import annotations

import pytest

from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.token_lengths import UNICODE, TokenLengths, shape_note, token_lengths, words_note


def test_shapes_by_hand() -> None:
    assert token_lengths(make_tokenizer("words").tokenize("हिन्दी में लिखा है"))[:2] == (14, 1)
    assert token_lengths(["!", "12"]) == TokenLengths(0, 0.0, 0.0, 0.0)
    assert shape_note(TokenLengths(10, 4, 0.25, 0.25)) == ""


HINDI, CHINESE, ENGLISH, SPELLED = (
    "हिन्दी में लिखा है",
    "我们今天去北京",
    "most words are longer than that",
    "s p e l l e d",
)


@pytest.mark.parametrize(
    ("kind", "arguments", "text", "remedy"),
    [
        ("words", {}, HINDI, UNICODE),
        ("words", {"lowercase": False}, HINDI, UNICODE),
        ("words", {}, CHINESE, UNICODE),
        ("spaces", {}, CHINESE, UNICODE),
        ("words", {"normalise": "NFKC"}, HINDI, UNICODE),
        ("spaces", {}, SPELLED, "see whether texts, and arguments"),
        ("words", {"pattern": "[a-z]"}, ENGLISH, "see whether texts, and arguments of the tokenizer, are as they"),
    ],
)
def test_a_remedy_fits_what_makes_words_fall_apart(kind: str, arguments: dict, text: str, remedy: str) -> None:
    note = words_note(make_tokenizer(kind, **arguments), [text])
    assert note.startswith("words ") and remedy in note and (UNICODE in note) == (remedy == UNICODE)


@pytest.mark.parametrize(("kind", "text"), [("words", ENGLISH), ("spaces", ENGLISH), ("spaces", HINDI)])
def test_words_that_look_like_words_have_no_note(kind: str, text: str) -> None:
    assert words_note(make_tokenizer(kind), [text]) == ""
