"""common/splitmix.py: the published sequence, and the same bits from every spelling."""

from __future__ import annotations

import numpy as np
import torch

from hashbench.common.splitmix import GAMMA, mix, mix_signed, shifted
from hashbench.models.coders.keys import mix_one, sign_of
from hashbench.models.portable.splitmix import mix64
from hashbench.models.text.compiled import compiled
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
