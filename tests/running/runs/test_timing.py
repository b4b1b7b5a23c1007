from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hashbench.models.encoders.registry import encoder_config
from hashbench.running.runs import timing

SPEED = 1e11


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[list[float]], None]]:
    """A function that says how long each matrix product takes; what is measured with it is forgotten afterwards."""

    def pretend(durations: list[float]) -> None:
        times = iter([time for i, seconds in enumerate(durations) for time in (100.0 * i, 100.0 * i + seconds)])
        monkeypatch.setattr(timing.time, "perf_counter", lambda: next(times))

    timing.operations_per_second.cache_clear()
    yield pretend
    timing.operations_per_second.cache_clear()


def test_the_best_of_eight_products_counts(clock: Callable[[list[float]], None]) -> None:
    """Of 1,024 rows and columns: 2 x 1024^3 operations in the shortest time."""
    clock([0.5, 0.25, 2.0, 0.125, 9.0, 0.5, 0.5, 1.0])
    assert timing.operations_per_second() == 2 * 1024**3 / 0.125
    assert timing.operations_per_second() == 2 * 1024**3 / 0.125  # not measured again: the clock has no more


def test_this_machine_has_a_speed() -> None:
    assert 1e6 < timing.operations_per_second() < 1e18


@pytest.mark.parametrize(("dim", "share"), [(64, 0.2), (128, 0.2), (256, 0.4), (320, 0.5), (1024, 0.5)])
def test_a_training_takes_six_operations_a_weight_and_token(
    monkeypatch: pytest.MonkeyPatch, dim: int, share: float
) -> None:
    monkeypatch.setattr(timing, "operations_per_second", lambda: SPEED)
    encoder = {"kind": "bert", "size": "tiny", "layers": 3, "dim": dim, "feed_forward": 4 * dim}
    weights = 3 * (4 * dim * dim + 2 * dim * 4 * dim)
    assert timing.training_seconds(encoder, 1000.0) == pytest.approx(6 * weights * 1000 / (share * SPEED))
    assert encoder["kind"] == "bert"  # the spec's block is left as it was


def test_what_the_block_does_not_say_is_that_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "operations_per_second", lambda: SPEED)
    tiny = encoder_config("bert", "tiny")
    said = {"layers": tiny.layers, "dim": tiny.dim, "feed_forward": tiny.feed_forward}
    block = {"kind": "bert", "size": "tiny"}
    assert timing.training_seconds(block, 7.0) == timing.training_seconds({**block, **said}, 7.0) > 0
