"""running/runs/durations.py: a machine's speed, and the fixed part of a run's time beside what grows with its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from hashbench.models.encoders.base import encoder_config
from hashbench.running.runs import durations
from hashbench.running.runs.durations import Durations, FinishedRun, TimeLine, fitted


def a_run(guess: float, seconds: float, kind: str = "pretrain", task: str | None = None, model: str = "m"
          ) -> FinishedRun:  # fmt: skip
    return FinishedRun(kind, "tiny", task, model, guess, seconds)


def test_runs_of_different_work_tell_both_parts_apart() -> None:
    line = fitted([a_run(guess, 30 + 4 * guess) for guess in (1, 10, 100, 1000)], TimeLine())
    assert line.fixed == pytest.approx(30, rel=0.2) and line.rate == pytest.approx(4, rel=0.2)


def test_one_odd_run_does_not_count_more_than_others() -> None:
    line = fitted([*(a_run(100, 50.0) for _ in range(4)), a_run(100, 2000.0)], TimeLine())
    assert line.at(100) == pytest.approx(50, rel=0.15)


def test_a_model_that_is_slow_in_one_training_is_thought_slow_in_another() -> None:
    done = [a_run(100, 100.0, model=f"m{n}") for n in range(4)] + [a_run(100, 1000.0, model="slow")]
    known = Durations(done, ["pretrain", "finetune"])
    slow, plain = (known.seconds(a_run(50, 0.0, "finetune", "cola", model)) for model in ("slow", "m9"))
    assert 1.5 * plain < slow < 10 * plain


def test_kinds_that_train_nothing_tell_of_themselves_alone() -> None:
    known = Durations([a_run(2.0, 900.0, "floor", "cola")], ["pretrain"])
    assert known.seconds(a_run(100, 0.0)) == TimeLine().at(100)
    assert known.behind(a_run(100, 0.0)) == [] == known.behind(a_run(2.0, 0.0, "floor", "rte"))
    assert [run.seconds for run in known.behind(a_run(2.0, 0.0, "floor", "cola", "m9"))] == [900.0]


def test_the_fixed_part_of_a_pretraining_is_none_of_a_fine_tuning() -> None:
    """A corpus that is prepared for 600 seconds, whatever the steps; a fine-tuning reads none."""
    known = Durations([a_run(guess, 600 + guess) for guess in (1, 10, 100)], ["pretrain", "finetune"])
    assert known.seconds(a_run(10, 0.0)) > 400
    assert known.seconds(a_run(10, 0.0, "finetune", "cola")) < 60


SPEED = 1e11


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[list[float]], None]]:
    """A function that says how long each matrix product takes; what is measured with it is forgotten afterwards."""

    def pretend(products: list[float]) -> None:
        times = iter([time for i, seconds in enumerate(products) for time in (100.0 * i, 100.0 * i + seconds)])
        monkeypatch.setattr(durations.time, "thread_time", lambda: next(times))

    monkeypatch.setattr(durations.torch.cuda, "is_available", lambda: False)
    durations.operations_per_second.cache_clear()
    yield pretend
    durations.operations_per_second.cache_clear()


def test_the_best_of_eight_products_counts(clock: Callable[[list[float]], None]) -> None:
    """Of 1,024 rows and columns: 2 x 1024^3 operations in the least CPU time of a thread, once for each thread."""
    threads = torch.get_num_threads()
    clock([0.5, 0.25, 2.0, 0.125, 9.0, 0.5, 0.5, 1.0])
    assert durations.operations_per_second() == threads * 2 * 1024**3 / 0.125
    assert (
        durations.operations_per_second() == threads * 2 * 1024**3 / 0.125
    )  # the clock has no more: not measured again
    assert torch.get_num_threads() == threads


def test_this_machine_has_a_speed() -> None:
    assert 1e6 < durations.operations_per_second() < 1e18


@pytest.mark.parametrize(("dim", "share"), [(64, 0.2), (128, 0.2), (256, 0.4), (320, 0.5), (1024, 0.5)])
def test_a_training_takes_six_operations_a_weight_and_token(
    monkeypatch: pytest.MonkeyPatch, dim: int, share: float
) -> None:
    monkeypatch.setattr(durations, "operations_per_second", lambda: SPEED)
    encoder = {"kind": "bert", "size": "tiny", "layers": 3, "dim": dim, "feed_forward": 4 * dim}
    weights = 3 * (4 * dim * dim + 2 * dim * 4 * dim)
    assert durations.training_seconds(encoder, 1000.0) == pytest.approx(6 * weights * 1000 / (share * SPEED))
    assert encoder["kind"] == "bert"  # the spec's block is left as it was


def test_what_the_block_does_not_say_is_that_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "operations_per_second", lambda: SPEED)
    tiny = encoder_config("bert", "tiny")
    said = {"layers": tiny.layers, "dim": tiny.dim, "feed_forward": tiny.feed_forward}
    block = {"kind": "bert", "size": "tiny"}
    assert durations.training_seconds(block, 7.0) == durations.training_seconds({**block, **said}, 7.0) > 0


def test_a_training_without_layers_takes_longer_the_more_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "operations_per_second", lambda: SPEED)
    average = {"kind": "average", "size": "tiny"}
    short, long = (durations.training_seconds(average, tokens) for tokens in (1000.0, 5000.0))
    assert long == pytest.approx(5 * short) and 0 < short
    assert short < durations.training_seconds({"kind": "bert", "size": "tiny"}, 1000.0) / 10
