"""Which trained model is named at the end of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hashbench.results.read.kept import best_kept
from hashbench.store.engine import open_store
from hashbench.store.finishing import finish
from hashbench.store.planning import RunRow, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, MetricRow, Result

SCORES = {"good": 0.9, "better": 0.95, "lost": 0.99}


def test_of_each_task_the_best_whose_weights_were_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db")
    row = RunRow("", "finetune", "", "tiny", {}, task="cola", seed=0, metric="matthews", split="validation")
    rows = [replace(row, id=f"{model}-{task}", model=model, task=task) for task in ("cola", "rte") for model in SCORES]
    number = add_experiment(store, "exp", {}, rows, baseline="good")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        score = 1 - SCORES[held.model] if held.task == "rte" else SCORES[held.model]
        metrics = [MetricRow("matthews", score, "validation", 7), MetricRow("best_step", 7), MetricRow("last_step", 7)]
        files = [Artifact(kind, f"{held.run_id}/{kind}", 1, "ab" * 32) for kind in ("weights", "head")]
        finish(store, held, Result(metrics, artifacts=[] if held.model == "lost" else files))
    store.close()
    best = best_kept(tmp_path / "r.db", "exp", ("rte", "cola"))
    assert {run.split for run in best} == {"validation"}
    found = [(run.task, run.model, run.run_id) for run in best]
    assert found == [("cola", "better", "better-cola"), ("rte", "good", "good-rte")]
    assert [run.task for run in best_kept(tmp_path / "r.db", "exp", {"rte"})] == ["rte"]


def test_a_test_set_chooses_no_model(tmp_path: Path) -> None:
    """Where scores are reported on test, the model is the one with the best score on validation or held-out rows."""
    store = open_store(tmp_path / "r.db")
    row = RunRow("", "finetune", "", "tiny", {}, seed=0, metric="accuracy", split="test")
    on_other_rows = {"atis": "validation", "ag_news": "holdout"}
    rows = [
        replace(row, id=f"{model}-{task}", model=model, task=task) for task in on_other_rows for model in ("a", "b")
    ]
    number = add_experiment(store, "exp", {}, rows, baseline="a")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        scores = {"test": 0.7, on_other_rows[held.task]: 0.8} if held.model == "a" else {"test": 0.9}
        scores = {on_other_rows[held.task]: 0.6, **scores}
        metrics = [MetricRow("accuracy", score, split, 7) for split, score in scores.items()]
        files = [Artifact("head", f"{held.run_id}/head", 1, "ab" * 32)]
        finish(store, held, Result([*metrics, MetricRow("best_step", 7), MetricRow("last_step", 7)], artifacts=files))
    store.close()
    found = [(run.task, run.model, run.split, run.value) for run in best_kept(tmp_path / "r.db", "exp", on_other_rows)]
    assert found == [("atis", "a", "validation", 0.8), ("ag_news", "a", "holdout", 0.8)]
