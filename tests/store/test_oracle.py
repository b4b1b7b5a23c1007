"""The views against the equations in plain Python, on random scores with gaps."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from hashbench.store.engine import Store
from hashbench.store.result import Result

if TYPE_CHECKING:
    from tests.store.conftest import Lab

MODELS = ("bert-mlm", "one", "two", "three")
OWN_TASKS = ("a", "b", "c", "d", "e")


@pytest.fixture
def oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retention", Path(__file__).parents[1] / "oracles" / "retention.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_scores(seed: int) -> dict[tuple[str, str], list[float | None]]:
    """Scores from -0.3 to 1, a fifth of the cells not measured, a fifth of the seeds undefined."""
    source = random.Random(seed)
    cells = [(model, task) for model in MODELS for task in OWN_TASKS if source.random() > 0.2]
    return {
        cell: [None if source.random() < 0.2 else source.uniform(-0.3, 1.0) for _ in range(source.randint(1, 3))]
        for cell in cells
    }


def measured(store: Store, lab: Lab, scores: dict[tuple[str, str], list[float | None]]) -> int:
    runs, results = [], {}
    for (model, task), seeds in scores.items():
        for seed, value in enumerate(seeds):
            run = lab.run(f"{model}-{task}-{seed}", model=model, task=task, seed=seed, metric="f1")
            runs.append(run)
            results[run.id] = Result(lab.score("f1", value, reason=None if value is not None else "undefined"))
    experiment_id = lab.plan(store, *runs)
    lab.finish_all(store, experiment_id, results)
    return experiment_id


@pytest.mark.parametrize("seed", range(3))
def test_retention_ratios(store: Store, lab: Lab, oracle: ModuleType, seed: int) -> None:
    scores = random_scores(seed)
    experiment_id = measured(store, lab, scores)
    sql = "SELECT model, task, value FROM prr WHERE experiment_id = :id AND checkpoint = 'last' AND paper = 'own'"
    found = {(row["model"], row["task"]): row["value"] for row in store.query(sql, id=experiment_id)}
    expected = oracle.retention(scores, "bert-mlm")
    assert len(expected) > 10
    assert found.keys() == expected.keys()
    for cell, value in expected.items():
        assert found[cell] == (None if value is None else pytest.approx(value, rel=1e-12)), cell


@pytest.mark.parametrize("seed", range(3))
def test_means_and_averages(store: Store, lab: Lab, oracle: ModuleType, seed: int) -> None:
    scores = random_scores(10 + seed)
    measured(store, lab, scores)
    cells = oracle.means(scores)
    rows = store.query("SELECT model, task, value, n, n_missing FROM scores_by_model WHERE checkpoint = 'best'")
    assert len(rows) == len(cells)
    for row in rows:
        seeds, value = scores[row["model"], row["task"]], cells[row["model"], row["task"]]
        assert row["value"] == (None if value is None else pytest.approx(value, rel=1e-12))
        assert (row["n"], row["n"] + row["n_missing"]) == (sum(v is not None for v in seeds), len(seeds))
    averages = store.query("SELECT model, value, n_tasks FROM paper_averages WHERE checkpoint = 'best'")
    for row in averages:
        known = [value for (model, _), value in cells.items() if model == row["model"] and value is not None]
        assert (row["value"], row["n_tasks"]) == (pytest.approx(oracle.mean(known), rel=1e-12), len(known))
