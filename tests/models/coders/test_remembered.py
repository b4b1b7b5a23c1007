"""Remembered codes: equal to computed ones, computed once, and counted in bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.models.coders.md5 import Md5Bits
from hashbench.models.coders.ngram_pooling import NgramPooling
from hashbench.models.coders.remembered import RememberedCodes
from hashbench.models.text.types import TypeTable


class Counting(NgramPooling):
    """Notes which strings it is asked for."""

    asked: list[str]

    def encode(self, strings: Sequence[str]) -> np.ndarray:
        self.asked = [*getattr(self, "asked", []), *strings]
        return super().encode(strings)


def test_codes_are_the_coders_own() -> None:
    words = [f"word{i % 700}" for i in range(2000)] + ["naïve", "", "日本"]
    for coder in (NgramPooling(12), Md5Bits()):
        remembered = RememberedCodes(coder)
        for _ in range(2):
            found = remembered.encode(words)
            assert np.array_equal(found, coder.encode(words)) and found.dtype == coder.dtype
        assert len(remembered) == 703
        assert remembered.encode([]).shape == (0, coder.width)
        assert remembered.fingerprint() == coder.fingerprint()


def test_a_type_is_computed_once() -> None:
    coder = Counting(12)
    remembered = RememberedCodes(coder)
    for words in (["a", "b", "a"], ["b", "c"], ["a", "b", "c"]):
        remembered.encode(words)
    assert coder.asked == ["a", "b", "c"]


def test_a_full_memory_keeps_what_it_has() -> None:
    coder = Counting(12)
    remembered = RememberedCodes(coder, capacity=2)
    first = remembered.encode(["a", "b", "c"])
    assert np.array_equal(remembered.encode(["a", "b", "c"]), first)
    assert len(remembered) == 2 and coder.asked == ["a", "b", "c", "c"]


def test_bytes_grow_with_the_types() -> None:
    remembered = RememberedCodes(NgramPooling(128))
    sizes = []
    for n in (0, 10, 1000):
        remembered.encode([f"w{i}" for i in range(n)])
        sizes.append(remembered.n_bytes)
    assert sizes[0] < sizes[1] < sizes[2]
    assert 1000 * 128 * 4 < sizes[2] < 1000 * 128 * 4 + 200_000  # half a megabyte for a thousand types at d = 128


def test_a_whole_table_on_several_threads() -> None:
    table = TypeTable.from_counts({f"w{i}": 1 for i in range(9000)})
    coder = NgramPooling(6)
    remembered = RememberedCodes(coder)
    assert np.array_equal(remembered.encode_types(table), coder.encode_types(table))
    assert len(remembered) == 9000
