"""Times of efficiency runs as claims read them: over tasks, over runs, over the baseline's of the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.claims.columns import TimeColumn
from hashbench.results.claims.results import TimedRuns
from hashbench.results.read.measured import measure
from tests.databases.hand_made import HandRun
from tests.results.claims.world import build


def _timed(model: str, run: int, own: float, baseline: float) -> HandRun:
    facts = {"infer_ms": own, "baseline_infer_ms": baseline}
    return HandRun(model, None, run, facts=facts, kind="efficiency")


@pytest.fixture
def times(tmp_path: Path) -> TimedRuns:
    """The baseline takes 20, 20 and 35 ms: 25 on average; the other model half as long as it in the same run."""
    runs = [_timed("bert-mlm", 0, 20.0, 20.0), _timed("bert-sr", 0, 10.0, 20.0), _timed("bert-sr", 1, 17.5, 35.0)]
    return TimedRuns(measure(build(tmp_path / "results.db", runs), None))


def test_a_time_is_a_ratio_of_the_same_run_times_the_baselines_mean(times: TimedRuns) -> None:
    assert times.of("bert-sr", TimeColumn("infer_ms", "")) == pytest.approx([12.5, 12.5])
    assert times.of("bert-mlm", TimeColumn("infer_ms", "")) == pytest.approx([25.0])


def test_a_speed_up_is_the_baselines_time_over_the_models(times: TimedRuns) -> None:
    assert times.of("bert-sr", TimeColumn("infer_ms", "", speedup=True)) == pytest.approx([2.0, 2.0])
    assert times.of("bert-mlm", TimeColumn("infer_ms", "", speedup=True)) == [1.0]


def test_a_model_without_a_time_has_none(times: TimedRuns) -> None:
    assert times.of("canine-c", TimeColumn("infer_ms", "")) == []
    assert times.of("bert-sr", TimeColumn("pretrain_ms", "")) == []
