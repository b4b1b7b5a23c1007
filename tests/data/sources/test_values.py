"""Labels of a regression keep what tells them apart, or are refused."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from hashbench.common.errors import InputError
from hashbench.data.sources.values import LEAST_CORRELATION, narrowed, read_values

WHERE = {"train": "train.csv", "test": "test.csv"}


def read(cells: list[object], split: str = "train"):
    return read_values({split: cells}, WHERE)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            [1_600_000_000 + 10 * i for i in range(20)],
            "2 of 20 different ones are left, .* subtract 1600000000 from the",
        ),
        ([str(1_600_000_000 + 10 * i) for i in range(20)], "2 of 20 different ones"),
        ([1.6e9 + 10.0 * i for i in range(20)], "2 of 20 different ones"),
        ([Decimal(1_600_000_000 + 10 * i) for i in range(20)], "2 of 20 different ones"),
        ([20_000_001 + i for i in range(20)], "11 of 20 different ones are left, .* subtract 20000001 from"),
        ([-20_000_001 - i for i in range(20)], "11 of 20 different ones are left, .* subtract -20000020 from"),
        ([1 + i * 1e-9 for i in range(20)], "1 of 20 different ones are left, .* score 0.00; subtract 1 from"),
        ([1_600_000_000_000_000_001 + i for i in range(20)], "1 of 20 different ones"),  # one float64 too
        ([f"16000000000000000{i}" for i in range(10, 30)], "1 of 20 different ones"),
        ([1e-46 * i for i in range(1, 20)], "2 of 19 different ones are left, .* or scale them"),
        (
            [1_600_000_000 + 190 * i for i in range(20)],
            "20 of 20 different ones are left, .* score 99.9",
        ),  # steps of 128 and 256
        ([*range(18), 2**24, 2**24 + 1], "19 of 20 different ones"),
    ],
)
def test_labels_that_are_others_in_float32_are_refused(cells: list[object], said: str) -> None:
    with pytest.raises(InputError, match=rf"test\.csv: labels lose digits in float32, in which .*: {said}"):
        read_values({"train": [0, 1], "test": cells}, WHERE)


@pytest.mark.parametrize(
    "cells",
    [
        [0.1 + 0.2, 0.3, 1.0],  # two ways to compute one number
        [10 / 3, "3.3333333333333335", "3.33333333333333", 4],
        [2_000 + i for i in range(30)],
        [1_600_000_000 + 86_400 * i for i in range(20)],
        [1.6e18],
        [1_600_000_001] * 3,
        ["1", 1, 1.0, Decimal(1), 2],
        ["1e-99999999999999999999", 0, 1],
        list(np.random.RandomState(0).rand(20_000)),  # among so many some are one in float32
    ],
)
def test_labels_that_are_the_same_in_float32_are_read_without_a_word(cells: list[object]) -> None:
    found = read(cells)
    assert found.notes == () and found.labels["train"].tolist() == [np.float32(float(cell)) for cell in cells]


def test_labels_of_which_some_are_lost_and_no_score_is_are_noted() -> None:
    cells = [1_600_000_000 + 100 * i for i in range(2_000)]
    after = len(set(map(np.float32, cells)))
    assert read(cells).notes == (f"{2_000 - after} of 2,000 different labels of train equal another in float32",)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=3, max_size=30, unique=True), st.integers(0, 10**12))
def test_what_is_read_has_the_score_that_the_numbers_have(numbers: list[int], offset: int) -> None:
    cells = [number // 10**6 + offset for number in numbers]
    if len(set(cells)) < 2:
        return
    try:
        labels = read(list(cells)).labels["train"]
    except InputError:
        return
    assert spearmanr(cells, labels)[0] >= LEAST_CORRELATION


@given(st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=30))
def test_predictions_keep_their_order(values: list[float]) -> None:
    kept = narrowed(values)
    assert kept.dtype in (np.float32, np.float64)
    if len(set(values)) > 1 and len(set(kept.tolist())) > 1:
        assert spearmanr(values, kept)[0] >= LEAST_CORRELATION
    if kept.dtype == np.float64:
        assert kept.tolist() == values


def test_predictions_are_float64_only_where_float32_loses_some() -> None:
    assert narrowed([0.1, 0.2, 0.3]).dtype == np.float32
    assert narrowed([1.0, 1.0]).dtype == np.float32
    assert narrowed([1.6e9 + i for i in range(20)]).dtype == np.float64
    assert not math.isinf(narrowed([1e300, 1.0])[0])
