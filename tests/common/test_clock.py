"""common/clock.py: seconds by the monotonic clock, and sleep as what the boot clock has more."""

from __future__ import annotations

import pytest

from hashbench.common import clock
from hashbench.common.clock import Stopwatch


def test_seconds_are_those_of_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    watch = Stopwatch()
    now[0] = 142.5
    assert watch.seconds == 42.5


@pytest.mark.parametrize(("booted", "slept"), [(5_000.0 + 3_642.5, 3_600.0), (5_042.5, 0.0), (None, 0.0)])
def test_sleep_is_what_the_boot_clock_has_more(
    monkeypatch: pytest.MonkeyPatch, booted: float | None, slept: float
) -> None:
    now: list[float | None] = [100.0, None if booted is None else 5_000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    monkeypatch.setattr(clock, "boot_time", lambda: now[1])
    watch = Stopwatch()
    now[:] = [142.5, booted]
    assert watch.slept == slept
