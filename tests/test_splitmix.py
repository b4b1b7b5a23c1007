"""splitmix.py: the published sequence."""

from __future__ import annotations

import numpy as np

from hashbench.splitmix import GAMMA, mix


def test_the_finaliser_is_that_of_splitmix64() -> None:
    """The published sequence of SplitMix64 from state 1234567 begins so (Rosetta Code)."""
    states = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * np.uint64(GAMMA)
    assert mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
