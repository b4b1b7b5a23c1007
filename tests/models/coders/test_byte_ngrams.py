"""BLT's rolling hash against published rows and plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.byte_ngrams import MOST_POSITIONS, ByteNgrams, rolled
from tests.oracles import keys

WORDS = ["", "a", "cat", "naïve", "日本語", "straightforwardly", "x" * 1000]
CAT, NAIVE = [103, 101, 120], [1, 114, 101, 199, 179, 122, 105, 2]


def wrapped(value: int) -> int:
    """As a signed integer of 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


def slow_hash(ids: list[int], last: int, size: int) -> int:
    window = [0] * max(0, size - last - 1) + ids[max(0, last - size + 1) : last + 1]
    return wrapped(sum(each * 1_000_000_007**j for j, each in enumerate(window)))


def slowly(word: str, coder: ByteNgrams) -> list[int]:
    ids = [3, *(byte + 4 for byte in word.encode()), 3][:MOST_POSITIONS]
    codes = []
    for i, each in enumerate(ids):
        codes.append(each)
        for s, size in enumerate(coder.sizes):
            total = slow_hash(ids, i, size)
            sign = keys.hashed(total % 2**64, s) % coder.signs if coder.signs else 0
            there = coder.pad or i + 1 >= size
            codes.append(total % coder.num_buckets + coder.num_buckets * sign if there else -1)
    return codes + [-1] * (coder.width - len(codes))


@pytest.mark.parametrize(
    ("ids", "size", "rows"),
    [
        (CAT, 3, [309465, 413720, 50522]), (CAT, 4, [215169, 150242, 175216]), (CAT, 8, [80259, 425016, 91216]),
        (NAIVE, 3, [443987, 189309, 369798, 11356, 143829, 127136, 210470, 468831]),
        (NAIVE, 4, [437197, 178809, 30086, 336265, 119909, 183219, 120197, 488364]),
        (NAIVE, 8, [172383, 89567, 159648, 311893, 482958, 92846, 43585, 137989]),
    ],
)  # fmt: skip
def test_published_rows(ids: list[int], size: int, rows: list[int]) -> None:
    """With zeros before the first id, as the released code has them."""
    found = [int(rolled(np.array(ids), last, size)) for last in range(len(ids))]
    assert [each % 500_002 for each in found] == rows
    assert found == [slow_hash(ids, last, size) for last in range(len(ids))]


def test_published_hashes() -> None:
    found = [int(rolled(np.array(CAT), last, 3)) for last in range(3)]
    assert found == [-7680463000257304649, 8766281148452247590, -9127206734966854622]


@pytest.mark.parametrize(
    "arguments", [{}, {"sizes": [2, 8], "pad": True}, {"sizes": [1], "signs": 5}, {"num_buckets": 7, "sizes": [16]}]
)
def test_any_word_equals_plain_python(arguments: dict[str, Any]) -> None:
    coder = ByteNgrams(**arguments)
    assert coder.encode(WORDS).tolist() == [slowly(word, coder) for word in WORDS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": []}, "give each once, and at least one"),
        ({"sizes": [3, 3]}, "give each once"),
        ({"sizes": [17]}, "sizes 17 is no whole number from 1 to 16"),
        ({"sizes": "3"}, "sizes '3' is no whole number"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ByteNgrams(**arguments)
