"""LSH on a device: plain Python and numpy decide by the same sums in float64, one n-gram after the other."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.models.portable.lsh import lsh_bits, lsh_rows

NGRAMS = ["a", "b", "ab", "ba", "aba", "c", "日", "日本", "abab", "\n"]
WORDS = ["", "a", "abab", "cab", "xyz", "日本語", "ab" * 200, "a\nb", "cc" * 40]
BITS = {"longest": 4, "seed": 43, "bits": 16, "features": len(NGRAMS), "zero_bit": 1}
ROWS = {"longest": 4, "seed": 42, "num_buckets": 12, "dimension": 12, "negate_half": True, "first_row": 5}


def read(name: str) -> str:
    return json.dumps(NGRAMS)


def counted(word: str) -> list[tuple[int, int]]:
    pieces = Counter(word[i : i + n] for n in range(1, 5) for i in range(len(word) - n + 1))
    return [(rank, pieces[ngram]) for rank, ngram in enumerate(NGRAMS) if pieces[ngram]]


def slow_bits(word: str, zero: int) -> list[int]:
    planes = np.random.RandomState(43).standard_normal((len(NGRAMS), 16)).tolist()
    scores = [0.0] * 16
    for rank, count in counted(word):
        scores = [score + count * number for score, number in zip(scores, planes[rank], strict=True)]
    return [int(score > 0 or (score == 0 and zero == 1)) for score in scores]


def slow_row(word: str, negate_half: bool) -> list[int]:
    eta = np.random.RandomState(42).standard_normal(12).tolist() * 2
    scores = [0.0] * 12
    for rank, count in counted(word):
        scores = [score + count * number for score, number in zip(scores, eta[rank:], strict=False)]
    if negate_half:
        scores = [score if i < 6 else -score for i, score in enumerate(scores)]
    return [5 + scores.index(max(scores))]


def codes_of(encode: Any, words: list[str]) -> list[list[int]]:
    """Of one word at a time, which numpy's must equal."""
    codes = [list(encode(word)) for word in words]
    assert encode.of_many(np, words).tolist() == codes
    return codes


@pytest.mark.parametrize("zero", [0, 1])
def test_bits_are_signs_of_sums_in_float64(zero: int) -> None:
    encode = lsh_bits({**BITS, "zero_bit": zero}, read)
    assert codes_of(encode, WORDS) == [slow_bits(word, zero) for word in WORDS]


@pytest.mark.parametrize("negate_half", [False, True])
def test_rows_are_the_first_of_the_largest_sums(negate_half: bool) -> None:
    encode = lsh_rows({**ROWS, "negate_half": negate_half}, read)
    assert codes_of(encode, WORDS) == [slow_row(word, negate_half) for word in WORDS]


@given(st.lists(st.text("abcd日本\n", max_size=20), min_size=1, max_size=5))
def test_any_words_get_the_same_codes_in_both_ways(words: list[str]) -> None:
    assert codes_of(lsh_bits(BITS, read), words) == [slow_bits(word, 1) for word in words]
    assert codes_of(lsh_rows(ROWS, read), words) == [slow_row(word, True) for word in words]
