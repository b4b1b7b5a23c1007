"""The coder that numbers strings."""

from __future__ import annotations

from hashbench.models.coders.rows import WordKeys
from tests.oracles import keys as oracle

WORDS = ["", "a", "cat", "naïve", "中文", "😀", "nul\0", *("x" * n for n in (54, 55, 56, 63, 64, 65, 119, 120, 1000))]


def test_keys_keep_their_bits() -> None:
    codes = WordKeys().encode(WORDS).tolist()
    assert [code % 2**64 for (code,) in codes] == [oracle.key(word) for word in WORDS]
