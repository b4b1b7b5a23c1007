"""Signatures of words against the ids of the authors' own class and plain integers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.coders.signature import Signature
from hashbench.models.portable.signature import signature
from tests.oracles.murmur import murmur3

# 3 tables of 10,624 buckets and 4 of 16,384, as the authors' released class has them
KNOWN = {
    "the": ([8183, 7732, 6347], [10484, 13483, 15281, 7079]),
    "\u2581the": ([8147, 4218, 9520], [13955, 885, 4162, 1526]),
    "caf\u00e9": ([2004, 9994, 10573], [7011, 13315, 10186, 12144]),
    "": ([1, 3538, 1733], [1, 943, 10136, 7684]),
}


@pytest.mark.parametrize("word", KNOWN)
def test_known_ids(word: str) -> None:
    for ids, (hashes, buckets) in zip(KNOWN[word], [(3, 10_624), (4, 16_384)], strict=True):
        assert Signature(buckets, hashes).encode([word]).tolist() == [ids]


@given(st.text(), st.integers(2, 2**31 - 1), st.integers(1, 6))
def test_any_word_equals_plain_integers(word: str, buckets: int, hashes: int) -> None:
    try:
        data = word.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no text has
        return
    halves = [murmur3(data, seed) for seed in range(hashes)]
    expected = [(low + 2**64 * high) % (buckets - 1) + 1 for low, high in halves]
    coder = Signature(buckets, hashes)
    assert coder.encode([word]).tolist() == [expected]
    assert signature(coder.recipe(), str)(word) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_buckets": 1}, "num_buckets 1 is no whole number from 2"),
        ({"hashes": 65}, "hashes 65 is no whole number from 1 to 64"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Signature(**arguments)
