"""common/splitmix.py: the published sequence, equal bits from every version, random numbers of (seed, epoch, row)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.common.splitmix import (
    GAMMA,
    drawn_share,
    integers,
    mix,
    mix_signed,
    random_bits,
    shifted,
    uniforms,
)
from hashbench.models.coders.rows import mix_one, sign_of
from hashbench.models.portable.hashing import mix64
from hashbench.models.text.compiled import compiled
from tests.oracles import corruption
from tests.oracles import keys as oracle

STATES = [0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, *(1234567 * GAMMA * i % 2**64 for i in range(1, 200))]


@compiled
def each_mixed(values: np.ndarray, signs: int, found: np.ndarray) -> None:
    """Of each number its mix, and the signs of its first two hashes, into `found` (n, 3)."""
    for i in range(len(values)):
        found[i, 0] = mix_one(values[i])
        for k in range(2):
            found[i, k + 1] = sign_of(values[i], k, signs)


def test_the_finaliser_is_that_of_splitmix64() -> None:
    """The published sequence of SplitMix64 from state 1234567 begins so (Rosetta Code)."""
    states = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * np.uint64(GAMMA)
    assert mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_every_spelling_has_the_bits_of_the_oracle() -> None:
    wanted = [oracle.mix(state) for state in STATES]
    states = np.array(STATES, dtype=np.uint64)
    assert mix(states).tolist() == wanted
    assert mix_signed(torch.from_numpy(states.view(np.int64))).numpy().view(np.uint64).tolist() == wanted
    assert [mix64(state) for state in STATES] == wanted


def test_a_kernel_has_the_bits_and_signs_of_the_oracle() -> None:
    found = np.empty((len(STATES), 3), dtype=np.uint64)
    each_mixed(np.array(STATES, dtype=np.uint64), 7, found)
    assert found.tolist() == [[oracle.mix(x), oracle.hashed(x, 0) % 7, oracle.hashed(x, 1) % 7] for x in STATES]


def test_a_shift_knows_no_sign() -> None:
    assert shifted(torch.tensor([-1, -(2**63), 8]), 1).tolist() == [2**63 - 1, 2**62, 4]


ROWS = np.array([0, 1, 7, 123_456_789_012])


def test_bits_equal_plain_splitmix() -> None:
    found = random_bits(3, 2, ROWS, 5, 11)
    assert found.tolist() == [[corruption.number(3, 2, int(row), 11, column) for column in range(5)] for row in ROWS]


def test_the_oracle_is_splitmix() -> None:
    """First outputs of SplitMix64 seeded with 1234567 (Vigna's reference implementation)."""
    golden = corruption.GOLDEN
    outputs = [corruption.splitmix((1234567 + k * golden) % 2**64) for k in (1, 2, 3)]
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


def test_a_share_of_each_row_is_drawn() -> None:
    """Of eligible columns alone, at least one where any is."""
    eligible = np.array([[True] * 20, [True, False] * 10, [False] * 19 + [True], [False] * 20])
    drawn = drawn_share(eligible, 0.15, seed=1, epoch=0, row_ids=ROWS, stream=21)
    assert drawn.sum(axis=1).tolist() == [3, 2, 1, 0] and not (drawn & ~eligible).any()
    assert np.array_equal(drawn[1:2], drawn_share(eligible[1:2], 0.15, seed=1, epoch=0, row_ids=ROWS[1:2], stream=21))
