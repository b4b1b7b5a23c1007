"""ProFormer's sums on a device: counted in one long integer, equal to the compiled kernel's and worked by hand."""

from __future__ import annotations

import pytest

from hashbench.models.coders.projection import ProjectionCoder
from hashbench.models.portable.hashing import ALL_64, mix64
from hashbench.models.portable.projection import as_number, counted, mixed_lanes, projection, sums_of

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
    assert [encode(word) for word in WORDS] == coder.encode(WORDS).tolist()


def test_each_lane_is_mixed_as_a_number_alone() -> None:
    """Lanes of ones and of single bits: whatever left its lane would change the one beside."""
    numbers = [ALL_64, 1, ALL_64, 1 << 63, 0, 0x9E3779B97F4A7C15]
    z = as_number(b"".join(number.to_bytes(16, "little") for number in numbers))
    full = as_number((b"\xff" * 8 + bytes(8)) * len(numbers))
    mixed = mixed_lanes(z, full).to_bytes(16 * len(numbers), "little")
    assert [as_number(mixed[16 * i : 16 * i + 16]) for i in range(len(numbers))] == [mix64(n) for n in numbers]


def test_bits_of_rows_are_counted() -> None:
    """Rows 001, 011 and 111, the first lowest: the lowest bit three times, the next two, the highest once."""
    planes = counted(0b111_011_001, 3, 3)
    assert [[plane >> i & 1 for plane in planes] for i in range(3)] == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert sums_of(planes, 3, 3) == (3, 1, -1)


def test_one_row_is_its_own_count() -> None:
    assert sums_of(counted(0b10, 1, 2), 1, 2) == (-1, 1)
