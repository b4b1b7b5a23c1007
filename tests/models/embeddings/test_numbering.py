"""Numbers of types by their codes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import NUMBERS, folded

WORDS = ["the", "play", "plays", "", "日本", "x" * 99]


def plainly(code: list[int]) -> int:
    return sum(value * 5 ** (13 * (i + 1)) for i, value in enumerate(code)) % (2**31 - 1)


@pytest.mark.parametrize("coder", ["word-keys", "md5-bits", "hash-rows", "word-bytes", "byte-ngrams"])
def test_it_equals_plain_integers(coder: str) -> None:
    codes = np.array(make_coder(coder).encode(WORDS))
    found = folded(torch.from_numpy(codes))
    assert found.tolist() == [plainly([int(value) for value in code]) for code in codes]
    assert bool((found >= 0).all()) and bool((found < NUMBERS).all())


def test_real_numbers_are_read_by_their_bits() -> None:
    codes = torch.tensor([[0.5, -1.0], [0.5, 1.0]])
    bits = [[0x3F000000, 0xBF800000 - 2**32], [0x3F000000, 0x3F800000]]
    assert folded(codes).tolist() == [plainly(code) for code in bits]


def test_few_words_share_a_number() -> None:
    words = [f"w{i}" for i in range(20_000)]
    numbers = folded(torch.from_numpy(np.array(make_coder("word-bytes").encode(words))))
    assert len(numbers.unique()) >= 19_998  # 0.09 pairs expected
