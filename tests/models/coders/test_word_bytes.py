"""Bytes of a word as CharacterBERT's ids."""

from __future__ import annotations

from hashbench.models.coders.rows import LENGTH, WordBytes


def slowly(word: str) -> list[int]:
    ids = [259, *(byte + 1 for byte in word.encode()[: LENGTH - 2]), 260]
    return ids + [0] * (LENGTH - len(ids))


def test_any_word_equals_plain_python() -> None:
    words = ["", "a", "naïve", "日本", "x" * 47, "x" * 48, "x" * 49, "y" * 1000, "\0"]
    assert WordBytes().encode(words).tolist() == [slowly(word) for word in words]
