"""How long a sweep will take, as far as finished runs tell."""

from __future__ import annotations

import pytest

from hashbench.runs import timing
from hashbench.runs.base import Run
from hashbench.runs.registry import kinds
from hashbench.store.status import Duration
from hashbench.sweep import estimate
from hashbench.sweep.estimate import TimeEstimate

ENCODER = {"encoder": {"kind": "bert", "size": "tiny"}}
RECIPE = {"steps": 100, "batch_size": 32, "sequence_length": 128}


def a_run(kind: str, number: int, task: str | None = None) -> Run:
    spec = {"kind": kind, "model": ENCODER, "pretrain": RECIPE, "finetune": {"epochs": 3, "steps": None}}
    return Run(id=f"{kind}{number}{task}", kind=kind, model=f"m{number}", encoder="tiny", spec=spec, task=task)


def estimated(monkeypatch: pytest.MonkeyPatch, runs: list[Run], done: dict[str, float]) -> TimeEstimate:
    """An estimate where the runs in `done` took so many seconds."""
    by_id = {run.id: run for run in runs}
    seen = [
        Duration(kind=run.kind, model=run.model, encoder=run.encoder, task=run.task, n=1, seconds=seconds)
        for run, seconds in ((by_id[run_id], seconds) for run_id, seconds in done.items())
    ]
    monkeypatch.setattr(timing, "operations_per_second", lambda: 1e11)
    monkeypatch.setattr(estimate, "done_ids", lambda store, ids: set(done))
    monkeypatch.setattr(estimate, "durations", lambda store: seen)
    return TimeEstimate(object(), runs, 2, {"cola": 8_551, "sst2": 67_349})  # type: ignore[arg-type]


def test_a_guess_is_the_arithmetic_of_training(monkeypatch):
    monkeypatch.setattr(timing, "operations_per_second", lambda: 1e11)
    weights = 2 * (4 * 128**2 + 2 * 128 * 512)
    pretraining, finetuning = a_run("pretrain", 0), a_run("finetune", 0, "cola")
    assert kinds()["pretrain"].seconds(pretraining, 0) == pytest.approx(6 * weights * 100 * 32 * 128 / 2e10)
    assert kinds()["finetune"].seconds(finetuning, 1000) == pytest.approx(6 * weights * 3 * 1000 * 40 / 2e10)


def test_a_finished_run_tells_of_its_like(monkeypatch):
    runs = [a_run("finetune", 0, "cola"), a_run("finetune", 1, "cola")]
    assert estimated(monkeypatch, runs, {runs[0].id: 7.0}).total() == 3.5  # two workers


def test_what_pretraining_took_corrects_the_guess_for_fine_tuning(monkeypatch):
    runs = [a_run("pretrain", 0), a_run("finetune", 0, "cola")]
    rough, like = guess_of(monkeypatch, runs[0], None), guess_of(monkeypatch, runs[1], 8_551)
    found = estimated(monkeypatch, runs, {runs[0].id: 5 * rough})
    assert found.seconds(runs[1]) == pytest.approx(5 * like)


def test_another_task_corrects_more_than_pretraining_does(monkeypatch):
    runs = [a_run("pretrain", 0), a_run("finetune", 0, "cola"), a_run("finetune", 0, "sst2")]
    rough = [guess_of(monkeypatch, run, rows) for run, rows in zip(runs, (None, 8_551, 67_349), strict=True)]
    found = estimated(monkeypatch, runs, {runs[0].id: 5 * rough[0], runs[1].id: 2 * rough[1]})
    assert found.seconds(runs[2]) == pytest.approx(2 * rough[2])


def test_timings_run_alone_and_nothing_is_left_when_all_is_done(monkeypatch):
    runs = [a_run("pretrain", 0), a_run("efficiency", 0), a_run("efficiency", 1)]
    assert estimated(monkeypatch, runs, {runs[0].id: 9.0, runs[1].id: 30.0}).left() == 30.0
    assert estimated(monkeypatch, runs, {run.id: 9.0 for run in runs}).left() == 0.0
    assert estimated(monkeypatch, runs, {}).left() is None


def guess_of(monkeypatch: pytest.MonkeyPatch, run: Run, rows: int | None) -> float:
    monkeypatch.setattr(timing, "operations_per_second", lambda: 1e11)
    return kinds()[run.kind].seconds(run, rows or 0)
