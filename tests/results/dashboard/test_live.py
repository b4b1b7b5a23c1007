"""The tracker must reach W&B when it can, and must never stop, prompt or hang a run."""

import logging
import sys
import time
from types import SimpleNamespace

import pytest

from hashbench.common.measured import MetricRow
from hashbench.results.dashboard import live as tracking
from hashbench.results.dashboard.live import TrackedRun, Tracker


def make(mode, folder, **timeouts):
    return Tracker(mode, TrackedRun("p", "g", "r1", "n", "finetune", {"a": 1}, folder), **timeouts)


def test_off_starts_nothing(tmp_path):
    tracker = make("off", tmp_path)
    tracker.record({"loss": 1.0}, 1, 0)
    tracker.finish({"accuracy": 0.5})
    assert not tracker.active and not list(tmp_path.iterdir())


def test_offline_writes_a_run_under_our_id(tmp_path):
    pytest.importorskip("wandb", reason="wandb is an extra")
    tracker = make("offline", tmp_path)
    tracker.record({"train/loss": 1.0}, 1, 0)
    tracker.finish({"accuracy": 0.5, "pearson": None})
    assert tracker.active
    assert [path.name for path in tmp_path.rglob("run-*.wandb")] == ["run-r1.wandb"]


class FakeRun:
    def __init__(self):
        self.logged, self.summary, self.ended = [], {}, False

    def log(self, values, step):
        self.logged.append((step, values))

    def finish(self, exit_code):
        self.ended, self.exit_code = True, exit_code


def test_points_and_final_values_arrive_in_order(tmp_path, monkeypatch):
    run = FakeRun()
    monkeypatch.setattr(tracking, "_start_run", lambda *_, **__: run)
    tracker = make("online", tmp_path)
    for step in range(3):
        tracker.record({"loss": 1.0 / (step + 1)}, step, 22 + step)
    tracker.finish({"accuracy": 0.5, "undefined": None})
    losses = [{"loss": 1.0, "step": 0}, {"loss": 0.5, "step": 1}, {"loss": 1 / 3, "step": 2}]
    assert run.logged == list(zip((22, 23, 24), losses, strict=True))
    assert run.summary == {"accuracy": 0.5} and run.ended and run.exit_code == 0


def test_an_interrupted_part_ends_as_such(tmp_path, monkeypatch):
    run = FakeRun()
    monkeypatch.setattr(tracking, "_start_run", lambda *_, **__: run)
    make("offline", tmp_path).finish(None)
    assert run.ended and run.exit_code == 1 and run.summary == {}


def test_a_failing_service_is_one_warning(tmp_path, monkeypatch, caplog):
    def fail(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(tracking, "_start_run", fail)
    with caplog.at_level(logging.WARNING):
        tracker = make("online", tmp_path)
        for step in range(5):
            tracker.record({"loss": 1.0}, step, step)
        tracker.finish({"accuracy": 0.5})
    assert [record.message for record in caplog.records] == [
        "Weights & Biases is left out of this run: OSError: no route to host"
    ]


def test_a_hanging_service_is_given_up(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tracking, "_start_run", lambda *_, **__: time.sleep(60))
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        tracker = make("online", tmp_path, start_timeout_s=0.2)
        tracker.record({"loss": 1.0}, 1, 0)
        tracker.finish({})
    assert time.monotonic() - began < 10
    assert "no answer within 0.2 s" in caplog.text


def test_a_hanging_end_is_given_up(tmp_path, monkeypatch, caplog):
    run = FakeRun()
    run.finish = lambda exit_code: time.sleep(60)
    monkeypatch.setattr(tracking, "_start_run", lambda *_, **__: run)
    tracker = make("online", tmp_path, finish_timeout_s=0.2)
    with caplog.at_level(logging.WARNING):
        tracker.finish({})
    assert "not finished within 0.2 s" in caplog.text


def test_the_summary_is_of_the_reported_evaluation():
    metrics = [
        MetricRow("accuracy", 0.9, "validation", 200), MetricRow("accuracy", 0.8, "validation", 300),
        MetricRow("accuracy", 0.1, "validation", 100), MetricRow("loss", 2.0, "train", 100),
        MetricRow("best_step", 200), MetricRow("f1", None, "validation", 200, reason="nan"),
        MetricRow("accuracy", 0.5, "validation", 200, "swap 0.1"),
    ]  # fmt: skip
    assert tracking.final_values(metrics) == {
        "validation/accuracy": 0.9, "validation/accuracy swap 0.1": 0.5, "validation/f1": None, "best_step": 200,
    }  # fmt: skip
    assert tracking.final_values(metrics[:3])["validation/accuracy"] == 0.8  # without a best step the last one


def test_a_sweep_agents_id_does_not_take_the_place_of_ours(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is an extra")
    monkeypatch.setenv("WANDB_SWEEP_ID", "s1")
    monkeypatch.setenv("WANDB_RUN_ID", "theirs")
    make("offline", tmp_path).finish({})
    assert [path.name for path in tmp_path.rglob("run-*.wandb")] == ["run-r1.wandb"]


def test_the_run_has_its_own_name_there(tmp_path, monkeypatch):
    told = {}
    run = SimpleNamespace(define_metric=lambda *_, **__: None)
    fake = SimpleNamespace(init=lambda **options: told.update(options) or run, Settings=lambda **options: options)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    make("offline", tmp_path)
    names = {key: told[key] for key in ("project", "group", "id", "name", "job_type", "config", "dir")}
    assert names == {
        "project": "p", "group": "g", "id": "r1", "name": "n", "job_type": "finetune", "config": {"a": 1},
        "dir": str(tmp_path),
    }  # fmt: skip
