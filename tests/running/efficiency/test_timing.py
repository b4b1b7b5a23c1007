"""Pairs of times, and the ratio that is kept."""

import pytest
import torch

from hashbench.running.efficiency import timing
from hashbench.running.efficiency.timing import Effort, Pairs, filling_batch, in_turn, timed_ms

CPU = torch.device("cpu")


NO_LIMIT = 1e9


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the measured work moves; gives back how to make work of so many milliseconds."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])

    def work_of(ms, log=None, name=""):
        def work():
            now[0] += (ms() if callable(ms) else ms) / 1000
            if log is not None:
                log.append(name)

        return work

    return work_of


def test_the_two_run_in_rounds_after_one_unmeasured_run_of_each(clock):
    order: list[str] = []
    pairs = in_turn(clock(1, order, "a"), clock(1, order, "b"), Effort(4, 1e9, 0.0), CPU)
    assert "".join(order) == "ab" + "abba" * 2
    assert len(pairs.model_ms) == len(pairs.baseline_ms) == 4


def test_a_ratio_is_measured_until_its_interval_is_narrow(clock):
    times = iter([1.0, *[1.0, 1.5] * 5, *[1.2] * 1000])
    pairs = in_turn(clock(lambda: next(times)), clock(2.4), Effort(2, 0.01, NO_LIMIT), CPU)
    low, high = pairs.interval
    assert (high - low) / pairs.ratio <= 0.01
    assert pairs.ratio == pytest.approx(2.0) and len(pairs.model_ms) > 20
    shorter = Pairs(pairs.model_ms[:-2], pairs.baseline_ms[:-2])
    assert not shorter.is_known(0.01), "it stops at the first round that is enough"


def test_a_ratio_that_stays_wide_ends_at_the_limit(clock):
    times = iter([1.0] + [1.0, 1.0, 9.0, 9.0] * 1000)
    pairs = in_turn(clock(lambda: next(times)), clock(1.0), Effort(2, 0.01, 0.1), CPU)
    assert sum(pairs.model_ms) + sum(pairs.baseline_ms) > 100.0
    assert sum(pairs.model_ms[:-2]) + sum(pairs.baseline_ms[:-2]) <= 100.0


def test_a_machine_that_slows_down_and_the_order_do_not_move_the_ratio():
    # Everything takes 1 ms longer with each run, in the order A B B A; the baseline is as fast as the model.
    drifting = Pairs((1.0, 4.0, 5.0, 8.0), (2.0, 3.0, 6.0, 7.0))
    assert drifting.ratios == pytest.approx([(2 / 1 * 3 / 4) ** 0.5, (6 / 5 * 7 / 8) ** 0.5])
    # The second of two always takes a tenth longer.
    late = Pairs((1.0, 1.1, 1.0, 1.1), (1.1, 1.0, 1.1, 1.0))
    assert late.ratios == pytest.approx([1.0, 1.0])


def test_the_stored_pair_of_times_has_the_median_ratio_of_the_rounds():
    # The machine became ten times slower in the second round; the baseline takes twice or thrice as long.
    pairs = Pairs((1.0, 1.0, 10.0, 10.0, 1.0, 1.0), (2.0, 2.0, 20.0, 20.0, 3.0, 3.0))
    assert pairs.model == 1.0
    assert pairs.baseline / pairs.model == pairs.ratio == pytest.approx(2.0)
    assert pairs.interval is None


def test_a_batch_is_doubled_while_a_sample_takes_less_time(clock):
    def work_of(size):
        return clock(100 + 10 * max(0, size - 32))  # 32 rows at once take no more time than one

    assert filling_batch(work_of, 8, 1024, CPU) == 32
    assert filling_batch(lambda size: clock(10 * size), 8, 1024, CPU) == 8
    assert filling_batch(lambda size: clock(100), 8, 100, CPU) == 64


def test_memory_that_ends_ends_the_search(clock):
    def work_of(size):
        if size > 32:
            raise torch.cuda.OutOfMemoryError("no")
        return clock(100)

    assert filling_batch(work_of, 8, 1024, CPU) == 32


def test_time_is_in_milliseconds():
    ticks = iter([5.0, 5.25])
    import hashbench.running.efficiency.timing as timing

    original, timing.time.perf_counter = timing.time.perf_counter, lambda: next(ticks)
    try:
        assert timed_ms(lambda: None, CPU) == pytest.approx(250.0)
    finally:
        timing.time.perf_counter = original
