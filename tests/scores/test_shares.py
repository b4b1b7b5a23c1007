from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from hashbench.common.measured import TextCounts, TextsRead
from hashbench.scores.shares import chance_of, class_shift, cut_otherwise

COUNTS = st.lists(st.tuples(st.integers(20, 500), st.integers(20, 500)), min_size=2, max_size=6)


@given(COUNTS)
def test_p_value_is_scipys_where_all_classes_are_frequent(counts: list[tuple[int, int]]) -> None:
    first, second = zip(*counts, strict=True)
    expected = chi2_contingency(np.array([first, second]), correction=False)
    if expected.expected_freq.min() >= 5:
        assert chance_of(first, second) == pytest.approx(expected.pvalue, abs=1e-12)


def test_rare_classes_are_taken_together() -> None:
    rare = chance_of([1000, 3, 0, 2, 1], [1000, 0, 2, 1, 3])
    assert rare == pytest.approx(chance_of([1000, 6], [1000, 6])) == 1.0
    assert chance_of([1000, 9, 9], [1000, 0, 0]) == pytest.approx(chance_of([1000, 18], [1000, 0])) and rare > 0.01


@pytest.mark.parametrize(
    ("first", "second"), [([5, 0], [9, 0]), ([0, 0], [3, 4]), ([], []), ([2], [3]), ([1, 1], [1, 1])]
)
def test_nothing_to_compare_is_chance(first: list[int], second: list[int]) -> None:
    assert chance_of(first, second) == 1.0


def of(cut: int, texts: int) -> TextCounts:
    return TextCounts(texts, cut, 10 * texts, cut, 50 * texts, 5 * cut)


def test_texts_that_are_cut_otherwise_than_in_train() -> None:
    """Figures of SST-2 under bytes: phrases of train are shorter than the sentences of validation."""
    read = TextsRead(64, {"train": of(21_080, 67_349), "validation": of(690, 872)})
    assert cut_otherwise(read, "validation") == "texts are cut in 31 % of train and 79 % of validation"
    assert cut_otherwise(TextsRead(64, {"train": of(3, 10), "test": of(5, 10)}), "test") == "", "chance"
    assert cut_otherwise(TextsRead(64, {"train": of(10_000, 10**6), "test": of(11_000, 10**6)}), "test") == "", "little"
    assert cut_otherwise(TextsRead(64, {"test": of(5, 10)}), "test") == ""


def test_classes_that_differ_most_are_named_with_both_shares() -> None:
    """Counts like those of a sample of AG News whose train set has other class shares than its test set."""
    train, test = np.array([3_960, 3_960, 1_880, 1_860]), np.array([1_900, 1_900, 1_900, 1_900])
    assert class_shift(train, test, ["world", "sports", "business", "science"], "test") == (
        "class shares differ by more than chance: science 16 % of train and 25 % of test, world 34 % and 25 %, "
        "sports 34 % and 25 %, business 16 % and 25 % (chi-squared)"
    )
    assert class_shift(np.array([50, 50]), np.array([9, 11]), ["no", "yes"], "test") == ""
    equal = class_shift(np.array([300, 500, 200]), np.array([600, 1_000, 200]), list("abc"), "test")
    assert "c 20 % of train and 11 % of test" in equal and "b 50" in equal
    alike = class_shift(np.array([800, 100, 100]), np.array([700, 100, 200]), list("abc"), "test")
    assert alike.endswith("a 80 % of train and 70 % of test, c 10 % and 20 % (chi-squared)"), "b has equal shares"
    small = class_shift(np.array([90_000, 9_500, 500]), np.array([88_000, 11_100, 900]), list("abc"), "test")
    assert "a 90.0 % of train and 88.0 % of test, b 9.5 % and 11.1 %, c 0.5 % and 0.9 %" in small, "equal digits"
    assert "; " not in class_shift(train, test, list("abcd"), "test"), "notes of a run are joined by it"
