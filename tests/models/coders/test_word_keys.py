"""Keys of words as signed numbers."""

from __future__ import annotations

from hashbench.models.coders.word_keys import WordKeys
from tests.oracles import keys


def test_keys_keep_their_bits() -> None:
    words = ["cat", "Cat", "", "日本"]
    assert [code % 2**64 for (code,) in WordKeys().encode(words).tolist()] == [keys.key(word) for word in words]
