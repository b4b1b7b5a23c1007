"""T-FREE's trigrams and rows against published integers and plain Python."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.byte_ngrams import MOST_TRIGRAMS, Trigrams
from tests.oracles import keys

WORDS = ["cat", "Cat", "CAT", "banana", "日", "é", "", "a", "日本語テキスト", "B2B", "x" * 1000, "aB-c", "Étude"]


def numbers(word: str) -> list[int]:
    data = f" {word} ".encode()
    return list(dict.fromkeys(int.from_bytes(data[i : i + 3], "little") for i in range(len(data) - 2)))[:MOST_TRIGRAMS]


def rows_of(number: int, buckets: int, hashes: int) -> list[int]:
    rows: set[int] = set()
    for k in range(hashes):
        j = 0
        while len(rows) == k:
            rows.add(int(hashlib.md5(f"{number}_{k}_{j}".encode()).hexdigest(), 16) % buckets)
            j += 1
    return sorted(rows)


def slowly(word: str, coder: Trigrams) -> list[int]:
    codes = []
    for number in numbers(word):
        rows, text = rows_of(number, coder.num_buckets, coder.hashes), number.to_bytes(3, "little")
        if coder.lowercase_rows and text.lower() != text and all(bytes([b]).isalpha() or b == 32 for b in text):
            lower = rows_of(int.from_bytes(text.lower(), "little"), coder.num_buckets, coder.hashes)
            rows[-coder.lowercase_rows :] = lower[-coder.lowercase_rows :]
        signs = [keys.hashed(number, k) % coder.signs if coder.signs else 0 for k in range(coder.hashes)]
        codes += [row + coder.num_buckets * sign for row, sign in zip(rows, signs, strict=True)]
    return codes + [-1] * (coder.width - len(codes))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cat", [6382368, 7627107, 2126945]), ("Cat", [6374176, 7627075, 2126945]), ("é", [11125536, 2140611]),
        ("日", [9954848, 10852326, 2139543]),
    ],
)  # fmt: skip
def test_published_trigrams(word: str, expected: list[int]) -> None:
    assert numbers(word) == expected and len(numbers("banana")) == 5


@pytest.mark.parametrize(
    ("buckets", "hashes", "rows"),
    [
        (1_000, 4, [150, 258, 435, 924, 206, 337, 805, 908, 303, 699, 792, 926]),
        (8_000, 10, [435, 678, 1924, 4209, 4724, 5150, 5792, 6258, 6833, 7012, 347, 468, 1206, 1236, 1337, 1805, 3420,
                     3943, 5312, 5908, 984, 1859, 3544, 3675, 4699, 4792, 5926, 6872, 7303, 7399]),
    ],
)  # fmt: skip
def test_published_rows_of_cat(buckets: int, hashes: int, rows: list[int]) -> None:
    code = Trigrams(buckets, hashes).encode(["cat"])[0].tolist()
    assert code[: len(rows)] == rows and set(code[len(rows) :]) == {-1}


def test_published_share_of_the_lower_case() -> None:
    plain, shared = (Trigrams(32_000, 10, c).encode(["Cat"])[0, :10].tolist() for c in (0, 2))
    assert plain == [742, 4517, 9969, 10129, 13361, 16496, 18727, 27287, 31581, 31687]
    assert shared == [*plain[:8], 30833, 31012]


@pytest.mark.parametrize("arguments", [(1_009, 3, 0, 0), (101, 5, 2, 0), (64, 4, 4, 7)])
def test_any_word_equals_plain_python(arguments: tuple[int, int, int, int]) -> None:
    coder = Trigrams(*arguments)
    assert coder.encode(WORDS).tolist() == [slowly(word, coder) for word in WORDS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_buckets": 8, "hashes": 10}, "hashes 10 is no whole number from 1 to 8"),
        ({"lowercase_rows": 11}, "lowercase_rows 11 is no whole number from 0 to 10"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Trigrams(**arguments)
