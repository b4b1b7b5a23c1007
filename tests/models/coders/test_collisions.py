"""models/coders/base.py against slow versions."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.models.coders.base import agreement, make_coder, shared_tokens, types_per_bucket
from tests.oracles import perturbation as oracle

WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lnrst"]


@pytest.mark.parametrize(
    ("name", "arguments"), [("md5-rows", {"num_buckets": 40}), ("md5-bits", {}), ("bloom", {"maps": 3, "alpha": 0.5})]
)
def test_collisions(name: str, arguments: dict) -> None:
    if name == "bloom":
        codes = np.random.default_rng(0).integers(0, 30, (len(WORDS), 3))
    else:
        codes = make_coder(name, **arguments).encode(WORDS)
    counts = np.random.default_rng(1).integers(1, 9, len(WORDS))
    columns = codes if codes.dtype == np.int64 else [[row.tobytes()] for row in codes]
    assert types_per_bucket(codes) == pytest.approx(oracle.types_per_bucket(columns), rel=1e-12)
    assert shared_tokens(codes, counts) == pytest.approx(oracle.shared_tokens(codes, counts), rel=1e-12)


def test_agreement() -> None:
    coder = make_coder("md5-bits")
    first, second = coder.encode(WORDS), coder.encode(WORDS[::-1])
    assert agreement(coder, first, second) == pytest.approx(oracle.equal_bits(first, second), rel=1e-12)
    assert agreement(coder, first, first) == 1
    rows = make_coder("md5-rows", num_buckets=3)
    assert agreement(rows, np.array([[1], [2]]), np.array([[1], [0]])) == 0.5
    floats = make_coder("projection")
    assert agreement(floats, np.array([[3.0, 0]]), np.array([[3.0, 3.0]])) == pytest.approx(0.5**0.5)


def test_nothing_to_measure() -> None:
    none = np.empty((0, 1), np.int64)
    assert types_per_bucket(none) is shared_tokens(none, np.empty(0)) is None
    assert agreement(make_coder("md5-rows"), none, none) is None
