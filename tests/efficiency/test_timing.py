"""Pairs of times, and the ratio that is kept."""

import pytest
import torch

from hashbench.efficiency.timing import Pairs, in_turn, timed_ms

CPU = torch.device("cpu")


def test_the_two_run_in_turn_after_one_unmeasured_round():
    order = []
    pairs = in_turn(lambda: order.append("a"), lambda: order.append("b"), pairs=3, device=CPU)
    assert order == ["a", "b"] * 4
    assert len(pairs.model_ms) == len(pairs.baseline_ms) == 3


def test_the_kept_ratio_is_the_median_of_the_pairs():
    # The machine became ten times slower in the second pair; within a pair the baseline takes twice or thrice as long.
    pairs = Pairs((1.0, 10.0, 1.0), (2.0, 20.0, 3.0))
    assert pairs.model == 1.0
    assert pairs.baseline / pairs.model == pytest.approx(2.0)


def test_time_is_in_milliseconds():
    ticks = iter([5.0, 5.25])
    import hashbench.efficiency.timing as timing

    original, timing.time.perf_counter = timing.time.perf_counter, lambda: next(ticks)
    try:
        assert timed_ms(lambda: None, CPU) == pytest.approx(250.0)
    finally:
        timing.time.perf_counter = original
