"""The order of types: by count, then by bytes, as Python sorts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.models.text.fast.table import order_of_types
from hashbench.models.text.types import TypeTable, _order_of_few, _order_of_many
from hashbench.models.text.unicode import pack

LETTERS = st.text(st.sampled_from("ab\0z"), min_size=1, max_size=20)
WORDS = st.one_of(LETTERS, LETTERS.map("https://www.".__add__), st.text(min_size=1, max_size=30))
COUNTS = st.sampled_from([1, 1, 1, 2, 255, 256, 70_000, 2**40])


@given(st.dictionaries(WORDS, COUNTS, min_size=1, max_size=120))
@settings(max_examples=150)
def test_types_are_ordered_as_python_orders_them(counts: dict[str, int]) -> None:
    blob, offsets = pack(list(counts))
    often = np.array(list(counts.values()), np.int64)
    for one, other in zip(_order_of_few(blob, offsets, often), _order_of_many(blob, offsets, often), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("words", [["x" * n for n in range(1, 700)], ["y" + "\0" * n for n in range(700)]])
def test_many_strings_that_begin_alike(words: list[str]) -> None:
    shuffled = np.random.default_rng(1).permutation(words).tolist() if "\0" not in words[-1] else words[::-1]
    blob, offsets = pack(shuffled)
    order = order_of_types(blob, offsets, np.ones(len(words), np.int64))
    assert [shuffled[i] for i in order] == words


def test_a_table_of_any_size_is_the_same() -> None:
    rng = np.random.default_rng(0)
    counts = {f"w{n}": int(rng.zipf(1.5)) % 1000 + 1 for n in range(5_000)}
    table = TypeTable.from_counts(counts)
    assert table.strings() == sorted(counts, key=lambda word: (-counts[word], word))
