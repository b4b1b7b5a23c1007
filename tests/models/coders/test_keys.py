"""Numbers of strings, their hashes, and the coder that gives them."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.keys import WordKeys, hashes, string_keys, with_signs
from hashbench.models.text.unicode import pack
from tests.oracles import keys
from tests.oracles import keys as oracle

WORDS = ["", "a", "cat", "naïve", "中文", "😀", "nul\0", *("x" * n for n in (54, 55, 56, 63, 64, 65, 119, 120, 1000))]


def test_keys_are_the_first_bytes_of_the_md5() -> None:
    assert string_keys(*pack(WORDS)).tolist() == [oracle.key(word) for word in WORDS]


def test_hashes_are_outputs_of_splitmix() -> None:
    found = hashes(string_keys(*pack(WORDS)), 5, first=2)
    assert found.tolist() == [[oracle.hashed(oracle.key(word), i) for i in range(2, 7)] for word in WORDS]
    assert hashes(string_keys(*pack(WORDS)), 0).shape == (len(WORDS), 0)


def test_a_code_with_signs_is_row_and_sign() -> None:
    rows, hashed = np.array([[3, 9], [0, 4]]), np.array([[7, 8], [1, 2**64 - 1]], dtype=np.uint64)
    codes = with_signs(rows, hashed, 10, 4)
    assert (codes % 10).tolist() == rows.tolist()
    assert (codes // 10).tolist() == [[3, 0], [1, 3]]
    assert with_signs(rows, hashed, 10, 0) is rows


def test_keys_keep_their_bits() -> None:
    words = ["cat", "Cat", "", "日本"]
    assert [code % 2**64 for (code,) in WordKeys().encode(words).tolist()] == [keys.key(word) for word in words]
