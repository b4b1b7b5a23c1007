"""Times of efficiency runs as claims read them: over tasks, over runs, over the baseline's of the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.claims.columns import Absent, StoredScore, TimeColumn, _stored
from hashbench.results.claims.results import TimedRuns
from hashbench.results.papers.paper import Column, load_paper
from hashbench.results.read.measured import measure
from hashbench.results.tables.paper import ANY_TASK
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


@pytest.mark.parametrize(
    ("tasks", "read"),
    [
        (["links"], StoredScore("links", "accuracy", "test")),
        (["links", "pages"], Absent("several tasks have accuracy (links, pages): one experiment a task")),
        ([], Absent("no task with accuracy")),
    ],
)
def test_a_column_for_any_task_reads_the_only_one_with_its_metric(
    tmp_path: Path, tasks: list[str], read: StoredScore | Absent
) -> None:
    runs = [HandRun("bert-mlm", task, scores={("accuracy", "test", ""): 0.5}) for task in tasks]
    measured = measure(build(tmp_path / "results.db", [*runs, _timed("bert-mlm", 0, 1.0, 1.0)]), None)
    column = Column("any", "percent", "score", task=ANY_TASK, metric="accuracy", split="test")
    assert _stored(measured, load_paper("superbloom"), column) == read


def test_a_set_of_evaluations_is_a_further_one_and_a_trainings_is_not(tmp_path: Path) -> None:
    runs = [HandRun("bert-mlm", "sst2"), HandRun("bert-mlm", "adv", kind="evaluation")]
    assert measure(build(tmp_path / "results.db", runs), None).further_sets() == ["adv"]
