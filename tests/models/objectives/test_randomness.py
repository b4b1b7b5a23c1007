"""Counter-based random numbers against SplitMix64 in plain integers, and their independence."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.models.objectives.randomness import integers, random_bits, uniforms
from tests.oracles import corruption as oracle

ROWS = np.array([0, 1, 7, 123_456_789_012])


def test_bits_equal_plain_splitmix() -> None:
    found = random_bits(3, 2, ROWS, 5, 11)
    assert found.tolist() == [[oracle.number(3, 2, int(row), 11, column) for column in range(5)] for row in ROWS]


def test_the_oracle_is_splitmix() -> None:
    """First outputs of SplitMix64 seeded with 1234567 (Vigna's reference implementation)."""
    golden = oracle.GOLDEN
    outputs = [oracle.splitmix((1234567 + k * golden) % 2**64) for k in (1, 2, 3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_a_row_does_not_depend_on_its_batch_or_width() -> None:
    wide = random_bits(3, 2, ROWS, 9, 11)
    assert np.array_equal(random_bits(3, 2, ROWS[[2]], 4, 11)[0], wide[2, :4])
    assert np.array_equal(random_bits(3, 2, ROWS[::-1], 9, 11)[::-1], wide)


@pytest.mark.parametrize("other", [(4, 2, 11), (3, 3, 11), (3, 2, 12), (2, 3, 11)])
def test_seed_epoch_and_stream_matter(other: tuple[int, int, int]) -> None:
    seed, epoch, stream = other
    assert not np.isin(random_bits(3, 2, ROWS, 9, 11), random_bits(seed, epoch, ROWS, 9, stream)).any()


def test_uniforms_are_uniform() -> None:
    values = uniforms(0, 0, np.arange(2000), 500, 1)
    assert values.min() >= 0 and values.max() < 1
    shares = np.bincount((values * 10).astype(int).ravel(), minlength=10) / values.size
    assert np.abs(shares - 0.1).max() < 4 * (0.09 / values.size) ** 0.5
    assert abs(np.corrcoef(values[:, 0], values[:, 1])[0, 1]) < 4 / 2000**0.5
    assert abs(np.corrcoef(values[0], values[1])[0, 1]) < 4 / 500**0.5


def test_integers_fill_their_range_evenly() -> None:
    values = integers(0, 0, np.arange(1000), 200, 1, below=7)
    assert values.dtype == np.int32
    shares = np.bincount(values.ravel(), minlength=7) / values.size
    assert len(shares) == 7 and np.abs(shares - 1 / 7).max() < 4 * (6 / 49 / values.size) ** 0.5
    assert integers(0, 0, np.arange(3), 4, 1, below=1).max() == 0
