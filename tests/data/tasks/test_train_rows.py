"""Fewer rows of train: drawn by a seed, with classes in their proportions, each number out of the next larger one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_data import HOLDOUT, TaskData, rows_in_order

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=200).map(np.array)


@given(LABELS, st.integers(0, 2**31 - 1))
def test_every_beginning_has_the_classes_in_their_proportions(labels: np.ndarray, seed: int) -> None:
    order = rows_in_order(labels, seed)
    n = len(labels)
    assert sorted(order) == list(range(n))
    for m in range(1, n + 1):
        for one in np.unique(labels):
            share = m * (labels == one).sum() / n
            assert abs((labels[order[:m]] == one).sum() - share) <= len(np.unique(labels))


def test_of_two_classes_no_beginning_is_more_than_one_row_off() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    counts = np.cumsum(labels[rows_in_order(labels, 3)])
    assert np.abs(counts - np.arange(1, 101) / 10).max() <= 1


def test_another_seed_draws_other_rows_and_values_are_one_class() -> None:
    values = np.linspace(0, 1, 50, dtype=np.float32)
    first, second = (list(rows_in_order(values, seed)) for seed in (0, 1))
    assert first != second and first == list(rows_in_order(values, 0))


@pytest.fixture(scope="module")
def cola() -> TaskData:
    return load_task(find_task("cola"), open_sources("builtin"))


def texts(data: TaskData, split: str = "train") -> list[str]:
    return list(data.splits[split].texts[0])


def test_fewer_rows_lie_in_more_rows_of_the_same_seed(cola: TaskData) -> None:
    few, more, other = (texts(cola.on_rows(number, seed)) for number, seed in ((20, 0), (40, 0), (20, 1)))
    assert (len(few), len(more)) == (20, 40)
    assert set(few) <= set(more) <= set(texts(cola)) and few != other


def test_other_splits_stay_and_the_data_are_others(cola: TaskData) -> None:
    few = cola.on_rows(20, 0)
    assert texts(few, "validation") == texts(cola, "validation")
    assert len({data.fingerprint for data in (cola, few, cola.on_rows(40, 0), cola.on_rows(20, 1))}) == 4
    assert few.notes[-1] == f"train rows: 20 of {len(texts(cola)):,}, drawn by each run's seed"


def with_holdout(data: TaskData, *, reports: str) -> TaskData:
    """The data with the first 30 rows of train held out, to select; reported is `reports`."""
    train = data.splits["train"]
    splits = {**data.splits, "train": train.take(np.arange(30, len(train))), HOLDOUT: train.take(np.arange(30))}
    task = replace(data.task, select_splits=(HOLDOUT,), report_splits=(reports,))
    return TaskData(task, splits, "f", "here", "own")


def test_held_out_rows_that_are_reported_are_the_same_on_fewer_rows(cola: TaskData) -> None:
    whole = with_holdout(cola, reports=HOLDOUT)
    few = whole.on_rows(20, 0)
    assert texts(few, HOLDOUT) == texts(whole, HOLDOUT) and len(texts(few)) == 20
    assert set(texts(few)) <= set(texts(whole))


def test_what_is_held_out_is_drawn_with_them(cola: TaskData) -> None:
    """Rows that select are labelled too, and count: 20 rows are those of train and those held out, together."""
    few = with_holdout(cola, reports="validation").on_rows(20, 0)
    assert len(texts(few)) + len(texts(few, HOLDOUT)) == 20 and len(texts(few, HOLDOUT)) == 2
    assert set(texts(few)) | set(texts(few, HOLDOUT)) <= set(texts(cola))


def test_as_many_rows_as_there_are_are_refused(cola: TaskData) -> None:
    with pytest.raises(
        InputError, match=r"task cola: train has .* rows, train_rows asks for .*per_task.cola.train_rows"
    ):
        cola.on_rows(len(cola.splits["train"]), 0)
