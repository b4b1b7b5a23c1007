"""Lengths of tokens, and what is said of them."""

from __future__ import annotations

from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.token_lengths import TokenLengths, shape_note, token_lengths


def test_shapes_by_hand() -> None:
    assert token_lengths(make_tokenizer("words").tokenize("हिन्दी में लिखा है"))[:2] == (14, 1)
    assert token_lengths(["!", "12"]) == TokenLengths(0, 0.0, 0.0, 0.0)
    assert shape_note(TokenLengths(10, 4, 0.25, 0.25)) == ""
