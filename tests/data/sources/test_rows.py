"""Copies of rows are counted once, in the nearest way in which they are copies, within splits and between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.data.sources.rows import row_notes
from hashbench.data.tasks.text_data import Split


def split(*rows: tuple[str, object]) -> Split:
    return Split(([text for text, _ in rows],), np.array([label for _, label in rows]))


def pairs(*rows: tuple[str, str], labels: list[int] | None = None) -> Split:
    first, second = map(list, zip(*rows, strict=True))
    return Split((first, second), np.array(labels or [0] * len(rows)))


def test_rows_of_test_that_lie_in_validation_are_counted_as_those_in_train_are() -> None:
    splits = {
        "train": split(("a", 0), ("b", 1)),
        "validation": split(("c", 0), ("d", 1), ("e", 1)),
        "test": split(("c", 1), ("D ", 1), ("f", 0)),
    }
    assert row_notes(splits) == []
    assert row_notes(splits, selected=["validation"]) == [
        "texts also in validation: 1 row of test",
        "texts also in validation but for case, blanks or invisible characters: 1 row of test",
    ]
    assert row_notes(splits, selected=["validation", "test"]) == []  # what is selected on both is reported on one


@pytest.mark.parametrize(
    "text",
    [
        "the ca\u00adfe",
        "the\ufeff cafe",
        "THE CAFE",
        " the  cafe",
        "the\tcafe\n",
        "the\u00a0cafe",
        "The Cafe ",
        "the \uff43\uff41\uff46\uff45",
    ],
)
def test_copies_but_for_case_blanks_or_normal_form(text: str) -> None:
    splits = {"train": split(("the cafe", 0), (text, 1)), "test": split((f"  {text.swapcase()}", 0))}
    assert row_notes(splits) == [
        "repeated but for case, blanks or invisible characters: 1 row of train",
        "texts also in train but for case, blanks or invisible characters: 1 row of test",
    ]


def test_pairs_in_the_other_order() -> None:
    train = pairs(("a", "b"), ("c", "d"), ("d", "C"), ("e", "e"))
    assert row_notes({"train": train, "test": pairs(("b", "A"), ("a", "c"), ("e", "e"))}) == [
        "repeated in the other order: 1 row of train",
        "texts also in train: 1 row of test",
        "texts also in train in the other order: 1 row of test",
    ]


@pytest.mark.parametrize(("labels", "what"), [([0, 1, 0, 0], "labels"), ([0.5, 1.0, 0.5, 0.5], "scores")])
def test_one_text_under_several_labels(labels: list[float], what: str) -> None:
    rows = dict(train=[("a", labels[0]), ("a", labels[1]), ("b", labels[2]), ("b", labels[3]), ("", 0), (" ", 1)])
    assert row_notes({name: split(*of) for name, of in rows.items()}) == [
        "repeated: 1 row of train",
        f"texts under several {what}: 1 of train (2 rows)",
    ]


def test_tags_are_labels_too() -> None:
    labels = np.empty(2, object)
    labels[:] = [(0, 1), (0, 2)]
    assert row_notes({"train": Split((["a b"] * 2,), labels)}) == ["texts under several labels: 1 of train (2 rows)"]


def test_rows_with_a_nul() -> None:
    splits = {"train": pairs(("a\0", "\0"), ("b", "c")), "test": pairs(("d", "e\0"))}
    assert row_notes(splits) == ["NUL characters (U+0000) in texts: 1 row of train, 1 row of test"]


def test_only_the_rows_asked_about_are_counted() -> None:
    splits = {"train": split(("a", 0), ("a", 0)), "test": split(("a", 0))}
    assert row_notes(splits, about=["test"]) == ["texts also in train: 1 row of test"]


WORDS = st.sampled_from(["a", "A", "b", "B ", "", " "])
ROWS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8)


def is_copy(way: int, row: tuple[str, str], other: tuple[str, str]) -> bool:
    """By the definition, row by row."""
    plain, of_other = (tuple(text.lower().strip() for text in of) for of in (row, other))
    if way == 0 or not any(plain) or not any(of_other):
        return row == other
    return plain == of_other if way == 1 else sorted(plain) == sorted(of_other)


def in_first_way(row: tuple[str, str], others: list[tuple[str, str]]) -> int | None:
    return next((way for way in range(3) if any(is_copy(way, row, other) for other in others)), None)


@given(ROWS, ROWS)
def test_counts_are_those_of_the_definition(train: list[tuple[str, str]], test: list[tuple[str, str]]) -> None:
    said = row_notes({"train": pairs(*train), "test": pairs(*test)})
    ways = ("", " but for case, blanks or invisible characters", " in the other order")
    expected = []
    within = {
        name: [in_first_way(row, rows[:at]) for at, row in enumerate(rows)]
        for name, rows in (("train", train), ("test", test))
    }
    between = [in_first_way(row, train) for row in test]
    for way, words in enumerate(ways):
        expected.append((f"repeated{words}", {name: of.count(way) for name, of in within.items()}))
    for way, words in enumerate(ways):
        expected.append((f"texts also in train{words}", {"test": between.count(way)}))
    shown = [
        f"{what}: " + ", ".join(f"{n} row{'s' if n > 1 else ''} of {name}" for name, n in counts.items() if n)
        for what, counts in expected
        if any(counts.values())
    ]
    assert said == shown


def test_many_rows_are_no_more_than_a_pass() -> None:
    """Hashed, not compared with each other: of 20,000 rows all pairs would take minutes."""
    texts = [f"row {number} {word}" for number, word in itertools.product(range(10_000), ("low", "High"))]
    splits = {name: Split((of,), np.zeros(len(of))) for name, of in (("train", texts), ("test", texts[::-1]))}
    assert row_notes(splits) == ["texts also in train: 20,000 rows of test"]
