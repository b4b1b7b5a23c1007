"""The fixed part of a run's time apart from what grows with its work."""

from __future__ import annotations

import pytest

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
    durations = Durations(done, ["pretrain", "finetune"])
    slow, plain = (durations.seconds(a_run(50, 0.0, "finetune", "cola", model)) for model in ("slow", "m9"))
    assert 1.5 * plain < slow < 10 * plain


def test_kinds_that_train_nothing_tell_of_themselves_alone() -> None:
    durations = Durations([a_run(2.0, 900.0, "floor", "cola")], ["pretrain"])
    assert durations.seconds(a_run(100, 0.0)) == TimeLine().at(100)
    assert durations.tell_of("pretrain", "tiny") == 0 and durations.tell_of("floor", "tiny") == 900
    assert durations.tell_of("floor", "base") == 0
