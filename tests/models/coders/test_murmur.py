"""MurmurHash against published values and plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hashbench.models.coders.murmur import murmur3, murmur64a, quarter
from tests.oracles import murmur as oracle

STRINGS = [random.Random(n).randbytes(n) for n in range(70)]


def as_array(data: bytes) -> np.ndarray:
    return np.frombuffer(b"??" + data + b"??", dtype=np.uint8)


@pytest.mark.parametrize(
    ("word", "number"),  # spaCy's documented number of "coffee", and others
    [
        ("coffee", 3197928453018144401), ("apple", 8566208034543834098), ("cat", 5439657043933447811),
        ("at", 11667289587015813222), ("c", 16900879642891266615), ("xxx", 4088098365541558500),
    ],
)  # fmt: skip
def test_numbers_of_strings(word: str, number: int) -> None:
    assert murmur64a(as_array(word.encode()), 2, 2 + len(word), 1) == number


def test_published_halves() -> None:
    assert murmur3(as_array(b"hello"), 2, 7, 0) == (0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19)


@pytest.mark.parametrize("seed", [0, 1, 2166136261])
def test_any_length_equals_plain_python(seed: int) -> None:
    for data in STRINGS:
        place = as_array(data), 2, 2 + len(data), seed
        assert murmur64a(*place) == oracle.murmur64a(data, seed)
        assert murmur3(*place) == oracle.murmur3(data, seed)


def test_the_four_parts() -> None:
    found = murmur3(as_array((5439657043933447811).to_bytes(8, "little")), 2, 10, 8)
    assert [int(quarter(*found, i)) for i in range(4)] == [2419205760, 4234162894, 3628808640, 2056277045]
