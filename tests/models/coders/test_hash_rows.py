"""Codes of hash embeddings against published integers and plain Python."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.rows import HashRows
from tests.oracles import keys as oracle

WORDS = ["", "a", "cat", "Cat", "naïve", "日本", "😀", "x" * 1000]


@pytest.mark.parametrize(
    ("word", "code"), [("cat", [39891, 646, 828]), ("Cat", [25765, 504, 376]), ("日本", [34908, 703, 56])]
)
def test_known_codes(word: str, code: list[int]) -> None:
    assert HashRows(num_buckets=1_000, hashes=2, factor_rows=50_000).encode([word]).tolist() == [code]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("signs", [0, 8])
def test_any_word_equals_plain_python(nested: bool, signs: int) -> None:
    buckets, hashes, factors = 97, 3, 1_009
    coder = HashRows(buckets, hashes, factors, nested, signs)
    expected = []
    for word in WORDS:
        x = oracle.key(word)
        first = oracle.hashed(x, 0) % factors
        x = first if nested else x
        rows = [oracle.hashed(x, i + 1) % buckets for i in range(hashes)]
        if signs:
            rows = [row + buckets * (oracle.hashed(x, 1 + hashes + i) % signs) for i, row in enumerate(rows)]
        expected.append([first, *rows])
    assert coder.encode(WORDS).tolist() == expected


def test_nested_types_that_share_the_first_hash_share_all() -> None:
    codes = HashRows(97, 2, factor_rows=5, nested=True).encode([str(i) for i in range(40)])
    assert len({tuple(code) for code in codes.tolist()}) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_buckets": 0}, "num_buckets 0 is no whole number from 1"),
        ({"hashes": 65}, "hashes 65 is no whole number from 1 to 64"),
        ({"signs": -1}, "signs -1 is no whole number from 0"),
        ({"nested": 1}, "nested 1; give true or false"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HashRows(**arguments)
