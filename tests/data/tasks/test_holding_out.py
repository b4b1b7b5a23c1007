"""Which rows of train are held out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hashbench.data.tasks.holding_out import (
    Contained,
    CountClasses,
    drawn_groups,
    drawn_rows,
    lost_classes,
    order_by_chance,
)

SENTENCES = [f"s{i} a{i} b{i} c{i}" for i in range(100)]
PHRASED = [phrase for text in SENTENCES for phrase in (text, text[:-3], text.split()[0])]  # 300 rows


def by_rows(n: int, seed: int) -> np.ndarray:
    return drawn_rows(order_by_chance(n, seed))


def by_groups(contained: Contained, seed: int, count: CountClasses) -> np.ndarray:
    return drawn_groups(contained, order_by_chance(len(contained.row_of), seed), count)


def counter(labels: list[int]) -> CountClasses:
    return lambda rows: np.bincount(np.array(labels, int)[rows], minlength=max(labels) + 1)


def none(rows: np.ndarray) -> None:
    return None


def shared(texts: list[str], held: np.ndarray) -> int:
    """The links between rows that are held out and rows that are not."""
    contained = Contained.of([texts])
    of = {(a, b) for a, b in zip(contained.inner, contained.outer, strict=True)}
    sides = [set(contained.row_of[held == side]) for side in (True, False)]
    return len(sides[0] & sides[1]) + sum((a in sides[0]) != (b in sides[0]) for a, b in of)


def test_rows_that_lie_in_one_another_are_held_out_together() -> None:
    held = by_groups(Contained.of([PHRASED]), 0, none)
    assert held.sum() == 30
    assert shared(PHRASED, held) == 0
    assert shared(PHRASED, by_rows(300, 0)) > 0


def test_pairs_are_held_out_together_by_both_texts() -> None:
    columns = [PHRASED, [text.upper() for text in PHRASED]]
    contained = Contained.of(columns)
    held = by_groups(contained, 0, none)
    assert (held == by_groups(Contained.of([PHRASED]), 0, none)).all()
    assert contained.lying_in(held) == 0


def test_a_text_that_lies_in_most_rows_binds_no_group() -> None:
    texts = [f"{text} good" for text in PHRASED] + ["good"]
    held = by_groups(Contained.of([texts]), 0, none)
    assert 27 <= held.sum() <= 33
    assert not held[-1], "it lies in rows of train"
    assert Contained.of([texts]).lying_in(held) == 0
    assert shared(texts[:-1], held[:-1]) == 0


def test_where_no_row_lies_in_another_they_are_those_of_the_first_rule() -> None:
    for n in (2, 9, 10, 57, 200):
        texts = [f"text {i}" for i in range(n)]
        assert (by_groups(Contained.of([texts]), 3, none) == by_rows(n, 3)).all()


def test_the_first_rule_draws_what_it_drew() -> None:
    assert np.flatnonzero(by_rows(40, 0)).tolist() == [9, 11, 12, 33]
    assert by_rows(2, 0).sum() == 1


def test_equal_rows_alone_are_drawn_one_by_one() -> None:
    assert (by_groups(Contained.of([["same"] * 30]), 0, none) == by_rows(30, 0)).all()


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcdefg"), max_size=6), st.integers(0, 4)), min_size=2, max_size=60),
    st.integers(0, 3),
)
def test_no_class_is_lost_and_no_row_leaks_unless_rows_are_drawn_one_by_one(rows, seed) -> None:  # type: ignore[no-untyped-def]
    texts, labels = [" ".join(words) for words, _ in rows], [label for _, label in rows]
    contained, count = Contained.of([texts]), counter(labels)
    held = by_groups(contained, seed, count)
    assert 0 < held.sum() < len(rows)
    by_row = bool((held == by_rows(len(rows), seed)).all())
    assert by_row or (contained.lying_in(held) == 0 and not len(lost_classes(held, count)))


def test_the_only_row_of_a_class_stays_in_train() -> None:
    texts = [f"text {i}" for i in range(40)]
    for rare in range(40):
        labels = [int(i == rare) for i in range(40)]
        held = by_groups(Contained.of([texts]), 0, counter(labels))
        assert not held[rare] and held.sum() in (3, 4)
        assert lost_classes(by_rows(40, 0), counter(labels)).tolist() == [1] * bool(by_rows(40, 0)[rare])
