"""Several labels a row: lists and joined names, and what is refused in one line."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.sources.class_labels import ReadClasses
from hashbench.data.sources.label_sets import lists_of_labels, read_label_sets
from hashbench.data.sources.labels import Classes

NAMES = st.sampled_from(["joy", "anger", "Sci/Tech", "ä b"])


def read(declared: Classes | None = None, **columns: list[list[object]]) -> ReadClasses:
    return read_label_sets(columns, {split: f"{split}.jsonl" for split in columns}, declared)


def refused(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=said) as error:
        call()
    assert "\n" not in str(error.value)


def cells(column: list[object], separator: str | None = None) -> list[list[object]]:
    return lists_of_labels(column, separator, "train.csv")


@given(st.lists(st.lists(NAMES, max_size=4), min_size=1, max_size=20), st.sampled_from(["|", ";", " , "]))
def test_joined_names_are_the_lists_that_were_joined(rows: list[list[str]], separator: str) -> None:
    assert cells([separator.join(row) for row in rows], separator) == rows


def test_space_around_names_and_empty_names_are_none() -> None:
    assert cells(["a ; b", ";a;", " ", "", None, 3, ["a", "b"]], ";") == [
        ["a", "b"],
        ["a"],
        [],
        [],
        [],
        [3],
        ["a", "b"],
    ]


def test_what_is_no_list_is_one_line_with_its_row() -> None:
    refused(r"train\.csv: row 2: 'a;b' is no list of labels; .*separator: '\|'", lambda: cells([[], "a;b"]))
    refused("row 1: 3 is no list of labels", lambda: cells([3]))
    refused(r"row 1: its labels are missing; write \[\] where", lambda: cells([None]))
    refused(r"row 1: \[\['a'\]\] has a list within a list", lambda: cells([[["a"]]]))
    refused(r"row 1: \"\['a', 'b'\]\" is a list written as text", lambda: cells(["['a', 'b']"], ","))


def test_labels_are_columns_in_the_order_of_their_names() -> None:
    of = read(train=[["b", "a"], [], ["c"]], test=[["a"]])
    assert of.names == ("a", "b", "c")
    assert of.ids["train"].tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]] and of.ids["train"].dtype == np.uint8
    assert of.ids["test"].tolist() == [[1, 0, 0]]


def test_numbers_are_in_the_order_of_numbers_and_places_of_declared_names() -> None:
    assert read(train=[[10, 2], ["2"], [1.0]]).names == ("1", "2", "10")
    declared = Classes(("joy", "anger"), ("joy", "anger"))
    assert read(declared, train=[[1], ["0", "anger"]]).ids["train"].tolist() == [[0, 1], [1, 1]]


def test_a_label_twice_in_a_row_counts_once_and_is_noted() -> None:
    of = read(train=[["a", "a"], ["b"]])
    assert of.ids["train"].tolist() == [[1, 0], [0, 1]]
    assert of.notes == ("rows with a label twice, which counts once: 1 of train",)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([["a"], [None]], "row 2: None is not a label"),
        ([["a"], ["b", ""]], "row 2: '' is not a label"),
        ([["Yes"], ["no"], ["yes"]], "labels 'Yes' and 'yes': one class in two spellings"),
        ([[0], [-1], [1]], "row 2: -1 is not a label"),
        ([["a"], [], ["a"]], "every label is 'a'; a task needs two or more"),
        ([[], []], "no row has a label; name the column of labels"),
        ([[1, 0, 0], [0, 0, 1]], "each list has 3 times 0 or 1; write the names or the numbers"),
    ],
)
def test_what_could_be_misread_is_refused(column: list[list[object]], said: str) -> None:
    refused(f"train.jsonl: .*{re.escape(said)}|train.jsonl: {re.escape(said)}", lambda: read(train=column))


def test_a_split_whose_labels_train_lacks_is_refused() -> None:
    refused(r"test\.jsonl: no row has a label that train has", lambda: read(train=[["a"], ["b"]], test=[["c"], []]))
    assert read(train=[["a"], ["b"]], test=[[], []]).ids["test"].tolist() == [[0, 0], [0, 0]]


def test_a_label_outside_declared_names_is_one_line() -> None:
    declared = Classes(("joy", "anger"), ("joy", "anger"))
    refused(
        "row 1: 'love' is not a label; expected 0 to 1, or one of joy, anger", lambda: read(declared, train=[["love"]])
    )
