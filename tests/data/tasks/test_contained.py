"""Rows that lie in one another, held against a comparison of each with each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hashbench.data.tasks.holding_out import Contained
from tests.oracles.contained import row_lies_in

# Few words, so that texts lie in one another; in two spellings, and with blanks that do not count
WORDS = st.sampled_from(["a", "A", "b", "B", "c", "!", "été", "e\u0301te\u0301", "漢字"])
TEXT = st.builds(" ".join, st.lists(WORDS, max_size=9)).flatmap(
    lambda text: st.sampled_from([text, f" {text} ", text.replace(" ", "  ")])
)


def by_hand(columns: list[list[str]]) -> set[tuple[int, int]]:
    """The pairs of rows of which the first lies in the second."""
    rows = list(zip(*columns, strict=True))
    return {(i, j) for i, one in enumerate(rows) for j, other in enumerate(rows) if row_lies_in(one, other)}


def found(columns: list[list[str]]) -> set[tuple[int, int]]:
    contained = Contained.of(columns)
    m = len(contained.words)
    lies = np.eye(m, dtype=bool)
    lies[contained.inner, contained.outer] = True
    n = len(columns[0])
    return {(i, j) for i in range(n) for j in range(n) if lies[contained.row_of[i], contained.row_of[j]]}


@given(st.lists(TEXT, min_size=1, max_size=12))
def test_texts_lie_in_others_word_for_word(texts: list[str]) -> None:
    assert found([texts]) == by_hand([texts])


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=10))
def test_of_a_pair_both_texts_lie_in_those_of_the_other_in_either_order(pairs: list[tuple[str, str]]) -> None:
    columns = [list(column) for column in zip(*pairs, strict=True)]
    assert found(columns) == by_hand(columns)


def test_a_part_of_a_word_lies_in_no_text() -> None:
    assert found([["art", "a party", "art is long", "ART  is"]]) == {
        (0, 0), (1, 1), (2, 2), (3, 3), (0, 2), (0, 3), (3, 2),
    }  # fmt: skip


def test_long_texts_are_found_at_any_place() -> None:
    words = [f"w{i}" for i in range(700)]
    texts = [" ".join(words), " ".join(words[:513]), " ".join(words[300:]), " ".join(words[1:699]), "w5 w7"]
    assert found([texts]) == by_hand([texts])


@given(st.lists(TEXT, min_size=2, max_size=12), st.data())
def test_held_out_rows_that_lie_in_others_are_counted(texts: list[str], data: st.DataObject) -> None:
    held = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    lies = by_hand([texts])
    lying = {i for i, j in lies if held[i] and not held[j]}
    assert Contained.of([texts]).lying_in(held) == len(lying)
