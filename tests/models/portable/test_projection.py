"""ProFormer's sums on a device: counted in one long integer, equal to the compiled kernel's and worked by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.models.coders.projection import ProjectionCoder
from hashbench.models.portable import projection as module
from hashbench.models.portable.hashing import ALL_64, GAMMA_64, mix64
from hashbench.models.portable.projection import BitLanes, LaneRows, Sums, as_number, mixed_lanes, projection

# The longest is cut behind 256 characters, and has 1,534 features.
WORDS = ["", "cat", "CAT", "^", "$", "^$", "naïve", "日本語", "🙂" * 300, "a\x00b", "x" * 255, "ab" * 2_500, "İSTANBUL"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("bits", "places", "seed"), [(420, 3, 0), (420, 1, 3), (64, 3, 0), (65, 2, 7), (1, 1, 12345), (128, 1, 2**31 - 1)]
)
def test_sums_are_those_of_the_kernel(bits: int, places: int, seed: int) -> None:
    coder = ProjectionCoder(bits=bits, places=places, seed=seed)
    part = coder.portable()
    encode = projection(part.values, lambda name: "")
    assert [list(encode(word)) for word in WORDS] == coder.encode(WORDS).tolist()
    assert np.array_equal(encode.of_many(np, WORDS), coder.encode(WORDS))


def test_each_lane_is_mixed_as_a_number_alone() -> None:
    """Lanes of ones and of single bits: whatever left its lane would change the one beside."""
    numbers = [ALL_64, 1, ALL_64, 1 << 63, 0, 0x9E3779B97F4A7C15]
    z = as_number(b"".join(number.to_bytes(16, "little") for number in numbers))
    full = as_number((b"\xff" * 8 + bytes(8)) * len(numbers))
    mixed = mixed_lanes(z, full).to_bytes(16 * len(numbers), "little")
    assert [as_number(mixed[16 * i : 16 * i + 16]) for i in range(len(numbers))] == [mix64(n) for n in numbers]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_a_row_is_the_hashes_of_a_fingerprint(n: int) -> None:
    draw = random.Random(n)
    digests, flip = [draw.randbytes(16) for _ in range(n)], draw.getrandbits(64)
    expected = [
        b"".join(mix64((as_number(digest[:8]) ^ flip) + k * GAMMA_64 & ALL_64).to_bytes(8, "little") for k in (1, 2, 3))
        for digest in digests
    ]
    assert LaneRows(3, flip).of(digests) == expected


@pytest.mark.parametrize("n", [1, 2, 14, 15, 16, 30, 31, 127, 240, 255])
@pytest.mark.parametrize("size", [8, 24])
def test_bits_of_rows_are_counted(n: int, size: int) -> None:
    """Rows by chance, all ones, and single bits: counters and sums are those of a loop."""
    draw, spread = random.Random(n), BitLanes(size)
    for rows in ([draw.randbytes(size) for _ in range(n)], [b"\xff" * size] * n, [bytes(size - 1) + b"\x80"] * n):
        counted = spread.counted([spread.of(row) for row in rows])
        assert list(counted) == [sum(as_number(row) >> bit & 1 for row in rows) for bit in range(8 * size)]
        if n < 128:
            assert Sums().of(counted, n).tolist() == [2 * count - n for count in counted]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6))
def test_numpy_gives_the_same_sums(words: list[str]) -> None:
    encode = projection(ProjectionCoder(seed=3).portable().values, lambda name: "")
    assert encode.of_many(np, words).tolist() == [list(encode(word)) for word in words]
    assert [list(code) for code in encode.of_some(words)] == [list(encode(word)) for word in words]


@pytest.mark.parametrize("kept", [0, 5, 1_000])
def test_sums_do_not_depend_on_the_n_grams_met_before(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_KEPT", kept)
    encode = projection(ProjectionCoder().portable().values, lambda name: "")
    words = ["cat", "cats", "concatenate", "cat", "a" * 300]
    expected = encode.of_many(np, words).tolist()
    assert [list(encode(word)) for word in words] == expected
    assert [list(encode(word)) for word in reversed(words)] == expected[::-1]
