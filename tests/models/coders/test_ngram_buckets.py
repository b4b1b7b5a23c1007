"""n-gram buckets against published rows and plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.ngram_buckets import MOST_ENTRIES, NgramBuckets, fnv
from tests.oracles import keys, murmur

WORDS = ["", "a", "apple", "naïve", "日本語", "<", "🙂🙃", "straightforward", "x" * 1000]


def slow_fnv(data: bytes) -> int:
    h = 2166136261
    for byte in data:
        h = ((h ^ (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF) * 16777619 % 2**32
    return h


def entries(word: str, minn: int, maxn: int, whole: bool) -> list[str]:
    framed = f"<{word}>"
    found = [framed] if whole else []
    for n in range(minn, maxn + 1):
        last = len(framed) - n
        found += [framed[i : i + n] for i in range(last + 1) if n > 1 or 0 < i < last]
    return found[:MOST_ENTRIES]


def slowly(word: str, coder: NgramBuckets) -> list[int]:
    rows = []
    for entry in entries(word, coder.minn, coder.maxn, coder.word):
        if coder.hash == "fnv":
            number, parts = slow_fnv(entry.encode()), [slow_fnv(entry.encode())]
        else:
            parts = murmur.quarters(entry.encode(), 2166136261)[: coder.hashes]
            number = murmur.murmur3(entry.encode(), 2166136261)[0]
        for i, part in enumerate(parts):
            sign = keys.hashed(number, i) % coder.signs if coder.signs else 0
            rows.append(part % coder.num_buckets + coder.num_buckets * sign)
    return rows + [-1] * (coder.width - len(rows))


def test_published_rows_of_floret() -> None:
    rows = NgramBuckets(50_000, minn=4, maxn=5, hashes=2).encode(["apple"])[0]
    assert rows[:16].tolist() == [
        40534, 20033,  # <apple>
        22888, 26128, 14912, 48090, 44973, 7367, 45590, 34570,  # <app appl pple ple>
        2696, 20356, 31678, 2833, 12426, 46326,  # <appl apple pple>
    ]  # fmt: skip
    assert set(rows[16:].tolist()) == {-1}


@pytest.mark.parametrize(
    ("text", "number"),
    [("<ca", 1066916747), ("cat", 108289031), ("at>", 3848351106), ("<cat>", 3961428137), ("é", 1023043777)],
)
def test_published_numbers_of_fasttext(text: str, number: int) -> None:
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    assert fnv(data, 0, len(data)) == number


@pytest.mark.parametrize(
    "arguments",
    [
        {"hash": "fnv", "word": False},
        {"hash": "fnv", "minn": 1, "maxn": 3, "signs": 4},
        {"hashes": 4, "minn": 2, "maxn": 7},
        {"hashes": 2, "signs": 3, "word": False},
    ],
)
def test_any_word_equals_plain_python(arguments: dict[str, Any]) -> None:
    coder = NgramBuckets(1_009, **arguments)
    assert coder.encode(WORDS).tolist() == [slowly(word, coder) for word in WORDS]


@pytest.mark.parametrize("length", [1, 5, 12])
def test_entries_of_a_word_are_counted(length: int) -> None:
    """sum over n of (l + 3 - n), and the word itself."""
    expected = sum(max(0, length + 3 - n) for n in range(3, 7)) + 1
    assert (NgramBuckets().encode(["abcdefghijkl"[:length]])[0] >= 0).sum() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hash": "md5"}, "hash 'md5'; choose murmur or fnv"),
        ({"minn": 4, "maxn": 3}, "maxn 3 is no whole number from 4"),
        ({"hash": "fnv", "hashes": 2}, "hashes 2 is no whole number from 1 to 1"),
        ({"num_buckets": 2**30, "signs": 4}, "signs 4 is no whole number from 0 to 1"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        NgramBuckets(**arguments)
