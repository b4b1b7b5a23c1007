"""data/tasks/kinds/classification.py: labels as classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import KIND
from hashbench.data.tasks.text_data import Split

TASK = Task("mine", KIND, ("text",), metrics=KIND.common_metrics, n_classes=3, label_names=("bad", "fair", "good"))


def test_classes_are_numbered_by_the_labels_of_all_splits() -> None:
    cells = {"train": ["good", "bad"], "test": ["fair", "good"]}
    labels, task = KIND.read_labels(replace(TASK, label_names=()), cells, {"train": "t", "test": "u"}, ())
    assert (task.n_classes, task.label_names) == (3, ("bad", "fair", "good"))
    assert {split: ids.tolist() for split, ids in labels.items()} == {"train": [2, 0], "test": [1, 2]}


def test_a_metric_of_two_classes_refuses_three() -> None:
    task = replace(TASK, metrics=("f1",), label_names=())
    with pytest.raises(InputError, match="^task 'mine': .*two classes"):
        KIND.read_labels(task, {"train": ["a", "b", "c"]}, {"train": "t"}, ())


def test_labels_of_a_further_set_are_the_trained_classes_by_name_or_number() -> None:
    assert KIND.as_trained(TASK, ["good", "bad"], "set", seen=None) == ["good", "bad"]
    assert KIND.as_trained(TASK, [2, 0], "set", seen={0, 2}) == ["good", "bad"]


def test_numbers_of_a_further_set_need_a_declared_order_or_a_mapping() -> None:
    found = replace(TASK, label_order=())  # the names were those of the rows
    with pytest.raises(
        InputError, match='it saw bad, fair, good: no order .* is declared.*: --labels "0=NAME,2=NAME"$'
    ):
        KIND.as_trained(found, [2, 0, "good"], "set", seen=None)
    mapped = replace(found, labels=(("0", "good"), ("2", "bad")))
    assert KIND.as_trained(mapped, [2, 0, "good", "0.0"], "set", seen=None) == ["bad", "good", "good", "good"]
    with pytest.raises(
        InputError, match="--labels: 'god' is none of the classes that training saw; did you mean 'good'"
    ):
        KIND.as_trained(replace(found, labels=(("0", "god"),)), [0], "set", seen=None)


@pytest.mark.parametrize(
    ("names", "noted"),
    [(("duplicate", "not_duplicate"), True), (("a", "b"), True), (("ham", "spam"), True), (("no", "yes"), False),
     (("0", "1"), False)],
)  # fmt: skip
def test_a_class_that_is_not_positive_by_its_name_is_noted(names: tuple[str, str], noted: bool) -> None:
    task = Task("mine", KIND, ("text",), metrics=("f1",), folder=Path())
    _, read = KIND.read_labels(task, {"train": list(names)}, {"train": "t"}, ())
    note = f"f1 is of {names[1]!r} (if {names[0]!r} is the class to find, write positive: {names[0]})"
    assert read.label_notes == ((note,) if noted else ())
    _, chosen = KIND.read_labels(replace(task, positive=names[0]), {"train": list(names)}, {"train": "t"}, ())
    assert chosen.label_names[1] == names[0] and chosen.label_notes == ()


def test_numbers_of_a_further_set_are_names_where_the_names_are_numbers() -> None:
    stars = replace(TASK, label_names=("1", "3", "2"), label_order=())
    assert KIND.as_trained(stars, [1, "2.0", 3.0], "set", seen=None) == ["1", "2", "3"]


def test_labels_that_training_never_saw_are_named_with_those_that_it_saw() -> None:
    line = r"^set: column 'label': labels that training never saw: .*'awful'.*; it saw bad, fair, good"
    with pytest.raises(InputError, match=line):
        KIND.as_trained(TASK, ["good", "awful"], "set", seen=None)
    with pytest.raises(InputError, match=r"never saw: 'fair'; it saw bad, good: leave out or rename the others$"):
        KIND.as_trained(TASK, ["good", "fair"], "set", seen={0, 2})


def test_rows_of_classes_that_training_lacks_are_said() -> None:
    splits = {"train": Split((["a", "b"],), np.array([0, 2])), "test": Split((["c", "d"],), np.array([1, 2]))}
    (note,) = KIND.label_notes(splits, TASK.label_names)
    assert "fair" in note and "test" in note and "1 row" in note
    assert KIND.label_notes({"train": splits["train"], "test": splits["train"]}, TASK.label_names) == []


def test_the_constant_is_the_most_frequent_class_and_of_several_the_smallest() -> None:
    assert KIND.constant(np.array([2, 1, 2, 1, 0])) == 1 and KIND.constant(np.array([2, 2, 0])) == 2


def test_there_is_nothing_to_learn_of_one_class() -> None:
    assert KIND.linear_model(np.array([1, 1]), 1e-3) is None
    model = KIND.linear_model(np.array([0, 1]), 1e-3)
    assert model.fit([[0.0], [1.0]], [0, 1]).predict([[0.1], [0.9]]).tolist() == [0, 1]
