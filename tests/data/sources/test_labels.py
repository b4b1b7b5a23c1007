from __future__ import annotations

import math

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.labels import read_classes, read_values

WHERE = {"train": "train.csv", "test": "test.csv"}


def classes(train: list[object], test: list[object] | None = None, names: tuple[str, ...] = ()):
    columns = {"train": train} | ({"test": test} if test is not None else {})
    labels, found = read_classes(columns, WHERE, names)
    return {split: ids.tolist() for split, ids in labels.items()}, found


def wrong(message: str, train: list[object], test: list[object] | None = None, names: tuple[str, ...] = ()) -> None:
    with pytest.raises(InputError, match=message):
        classes(train, test, names)


def test_integers_become_ids_in_their_order() -> None:
    assert classes([5, 1, 10, 1]) == ({"train": [1, 0, 2, 0]}, ("1", "5", "10"))


def test_integers_of_a_csv_file() -> None:
    assert classes(["1", " 0", "1"]) == ({"train": [1, 0, 1]}, ("0", "1"))


def test_whole_floats_and_truth_values_are_integers() -> None:
    assert classes([1.0, 0.0])[0] == classes([True, False])[0] == {"train": [1, 0]}


def test_names_become_ids_in_their_order() -> None:
    assert classes(["no", "yes", "maybe"]) == ({"train": [1, 2, 0]}, ("maybe", "no", "yes"))


def test_names_come_from_all_splits() -> None:
    labels, names = classes(["a", "c"], ["b"])
    assert names == ("a", "b", "c")
    assert labels == {"train": [0, 2], "test": [1]}


def test_known_names_take_ids_and_names() -> None:
    assert classes([0, "yes", "1", "no"], names=("no", "yes"))[0] == {"train": [0, 1, 1, 0]}


def test_a_name_that_is_a_number_is_first_of_all_a_name() -> None:
    assert classes(["1", "0"], names=("1", "0"))[0] == {"train": [0, 1]}


def test_a_few_numbers_among_names_are_names() -> None:
    assert classes(["a", "b", "c", "7"])[1] == ("7", "a", "b", "c")


@pytest.mark.parametrize("cell", ["x", "", None, math.nan, 0.5, -1, [1]])
def test_what_is_no_label_among_integers(cell: object) -> None:
    wrong(r"test\.csv: row 2: .* is not a label; expected an integer from 0 on", [0, 1, 1, 0], [0, cell])


@pytest.mark.parametrize("cell", ["", None, math.nan, 3])
def test_what_is_no_label_among_names(cell: object) -> None:
    wrong(r"train\.csv: row 3: .* is not a label; expected a name", ["a", "b", cell])


def test_the_message_shows_the_label() -> None:
    wrong("row 3: 'oops' is not a label", ["0", "1", "oops"])


@pytest.mark.parametrize("cell", [3, -1, "3", "other"])
def test_out_of_range_of_the_names(cell: object) -> None:
    wrong("row 1: .* is not a label; expected 0 to 2, or one of a, b, c", [cell], names=("a", "b", "c"))


def test_one_class_is_no_task() -> None:
    wrong("every label is 'a'; a task needs two or more", ["a", "a"])


def test_values_are_float32() -> None:
    labels = read_values({"train": [1, "2.5", 0.1]}, WHERE)["train"]
    assert labels.dtype == np.float32
    assert labels.tolist() == [1.0, 2.5, np.float32(0.1)]


@pytest.mark.parametrize("cell", ["x", "", None, math.nan, math.inf, "nan", True])
def test_what_is_no_value(cell: object) -> None:
    with pytest.raises(InputError, match=r"train\.csv: row 2: .* is not a label; a regression needs finite numbers"):
        read_values({"train": [1.0, cell]}, WHERE)
