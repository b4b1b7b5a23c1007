"""How long heartbeats stood still, by the clock of the process that looks."""

from hashbench.store.heartbeats import HeartbeatMonitor


def test_a_heartbeat_stands_still_from_the_first_look_on_until_it_moves() -> None:
    now = 100.0
    pulse = HeartbeatMonitor(clock=lambda: now)
    assert pulse.stood_still({1: 5000.0, 2: 9000.0}) == {1: 0.0, 2: 0.0}
    now = 130.0
    assert pulse.stood_still({1: 5000.0, 2: 9015.0}) == {1: 30.0, 2: 0.0}
    now = 160.0
    assert pulse.stood_still({1: 5000.0, 3: 1.0}) == {1: 60.0, 3: 0.0}


def test_an_attempt_that_went_and_came_back_is_seen_anew() -> None:
    now = 0.0
    pulse = HeartbeatMonitor(clock=lambda: now)
    pulse.stood_still({1: 7.0})
    pulse.stood_still({})
    now = 80.0
    assert pulse.stood_still({1: 7.0}) == {1: 0.0}
