"""MD5 codes against the published oracles and hashlib."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.md5 import FEW_TYPES, Md5Bits, Md5Rows
from hashbench.models.text.unicode import pack
from tests.oracles import hashes as oracle

WORDS = ["", "a", "naïve", "中文", "😀", "nul\0", *("x" * n for n in (54, 55, 56, 63, 64, 65, 119, 120, 128, 1000))]


@pytest.mark.parametrize(
    ("word", "bits"),  # HMAC-MD5 with the key of the released HashFormers code
    [("play", "95ea122b0b72902c5a95d7ba740ff838"), ("plays", "f75bd557c7ca967ff75cdd26f4987fc1")],
)
def test_published_bits(word: str, bits: str) -> None:
    coder = Md5Bits()
    assert coder.encode([word])[0].tobytes().hex() == bits
    assert coder.bits == 128


def test_bits_are_most_significant_first() -> None:
    row = np.unpackbits(Md5Bits().encode(["play"])[0])
    assert row[:8].tolist() == [1, 0, 0, 1, 0, 1, 0, 1]  # 0x95
    chunks = [int("".join(map(str, row[i : i + 10])), 2) for i in range(0, 128, 10)]
    # Pool's codewords of `play`, released code
    assert chunks == [599, 673, 138, 779, 458, 258, 790, 661, 862, 935, 259, 1016, 56]


@pytest.mark.parametrize(("word", "row"), [("play", 22237), ("hello", 46797), (",", 15846), ("the", 20664)])
def test_rows_of_the_released_code(word: str, row: int) -> None:
    assert Md5Rows().encode([word]).tolist() == [[row]]


def test_rows_of_the_small_table() -> None:
    assert Md5Rows(num_buckets=1033).encode(["play"]).tolist() == [[740]]
    assert Md5Rows(num_buckets=1033, first_row=0).encode(["play"]).tolist() == [[735]]


@pytest.mark.parametrize("times", [1, FEW_TYPES // 90 + 1], ids=["few", "compiled"])
def test_any_word_equals_hashlib(times: int) -> None:
    generator = random.Random(0)
    words = WORDS + ["".join(chr(generator.randrange(1, 0xD800)) for _ in range(n)) for n in range(80)]
    words *= times
    bits, rows = Md5Bits("a key"), Md5Rows(2**31 - 1, "a key", first_row=0)
    numbers = [oracle.md5_number(word, "a key") for word in words]
    assert [int(code.tobytes().hex(), 16) for code in bits.encode(words)] == numbers
    assert rows.encode(words)[:, 0].tolist() == [number % (2**31 - 1) for number in numbers]


def test_a_key_longer_than_a_block() -> None:
    key = "k" * 65
    for n in (1, FEW_TYPES + 1):
        assert Md5Bits(key).encode(["word"] * n)[-1].tobytes().hex() == f"{oracle.md5_number('word', key):032x}"


def test_a_slice_of_a_packed_list() -> None:
    blob, offsets = pack(["zero", "play"])
    assert Md5Rows().encode_utf8(blob, offsets[1:]).tolist() == [[22237]]


def test_no_words_at_all() -> None:
    assert Md5Bits().encode([]).shape == (0, 16)
    assert Md5Rows().encode([]).shape == (0, 1)


def test_wrong_arguments() -> None:
    with pytest.raises(
        InputError, match="coder md5-rows: num_buckets 0 is no whole number from 1 to 2147483647; correct"
    ):
        Md5Rows(num_buckets=0)
    with pytest.raises(InputError, match="md_key 7 is no text; put it in quotes"):
        Md5Bits(md_key=7)  # type: ignore[arg-type]
