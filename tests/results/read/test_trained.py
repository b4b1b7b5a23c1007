"""The best trained model of a task: what a sweep names at its end, and what `export --experiment` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.read.trained import best_kept, chosen_run
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Predictions, Result, finish

Scores = Mapping[str, Mapping[str, float]]  # by run id, by split


def built(path: Path, runs: list[Run], scores: Scores, kept: set[str]) -> Store:
    """A database in which every run is finished with these scores; `kept`: those that kept their weights."""
    store = open_store(path)
    number = add_experiment(store, "exp", {}, runs, baseline="good")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        metrics = [MetricRow("matthews", value, split, 7) for split, value in scores[held.run_id].items()]
        steps = [MetricRow("best_step", 7), MetricRow("last_step", 7)]
        files = [Artifact(kind, f"{held.run_id}/{kind}", 1, "ab" * 32) for kind in ("weights", "head")]
        finish(store, held, Result([*metrics, *steps], artifacts=files if held.run_id in kept else []))
    return store


def run(model: str, task: str, seed: int | None = 0, split: str = "validation", kind: str = "finetune") -> Run:
    row = Run("", kind, model, "tiny", {}, task=task, seed=seed, metric="matthews", split=split)
    return replace(row, id=f"{model}-{task}" if seed == 0 else f"{model}-{task}-{seed}")


def test_of_each_task_the_best_whose_weights_were_kept(tmp_path: Path) -> None:
    of_cola = {"good": 0.9, "better": 0.95, "lost": 0.99}
    runs = [run(model, task) for task in ("cola", "rte") for model in of_cola]
    scores = {
        row.id: {"validation": of_cola[row.model] if row.task == "cola" else 1 - of_cola[row.model]} for row in runs
    }
    store = built(tmp_path / "r.db", runs, scores, {row.id for row in runs if row.model != "lost"})
    choices = best_kept(store, "exp")
    assert [(choice.run.task, choice.run.run_id) for choice in choices] == [
        ("cola", "better-cola"),
        ("rte", "good-rte"),
    ]
    assert choices[0].remarks() == ["lost seed 0 is better on cola (99.0, not 95.0), but its weights were not kept"]
    assert choices[1].remarks() == []


def test_of_equal_ones_the_one_without_weights_is_not_called_better(tmp_path: Path) -> None:
    values = {"kept": 0.3, "lost": 0.1 + 0.2}  # larger in the last bit
    runs = [run(model, "cola") for model in values]
    store = built(tmp_path / "r.db", runs, {row.id: {"validation": values[row.model]} for row in runs}, {"kept-cola"})
    (choice,) = best_kept(store, "exp")
    assert choice.run.model == "kept" and choice.remarks() == []


def test_a_test_set_chooses_no_model(tmp_path: Path) -> None:
    """Where scores are reported on test, the model is the one with the best score on validation or held-out rows."""
    on_other_rows = {"atis": "validation", "ag_news": "holdout"}
    runs = [run(model, task, split="test") for task in on_other_rows for model in ("a", "b")]
    scores = {
        row.id: {"test": 0.7, on_other_rows[str(row.task)]: 0.8}
        if row.model == "a"
        else {on_other_rows[str(row.task)]: 0.6, "test": 0.9}
        for row in runs
    }
    store = built(tmp_path / "r.db", runs, scores, {row.id for row in runs})
    found = [(of.run.task, of.run.model, of.run.split, of.run.value) for of in best_kept(store, "exp")]
    assert found == [("atis", "a", "validation", 0.8), ("ag_news", "a", "holdout", 0.8)]


def outputs(*classes: int) -> np.ndarray:
    """Logits of two classes that choose these."""
    return np.eye(2, dtype=np.float32)[list(classes)]


def built_with_outputs(path: Path, runs: list[Run], scores: Mapping[str, float], constant: set[str]) -> Store:
    """A database of finished runs with these scores on validation, where all trainings kept their weights."""
    store = open_store(path)
    number = add_experiment(store, "exp", {}, runs, baseline="a")
    while held := claim(store, number, worker="w", lease_s=60, max_attempts=1):
        answers = outputs(1, 1, 1) if held.run_id in constant else outputs(0, 1, 1)
        predicted = [Predictions("validation", "best", answers, np.array([0, 1, 1]), "ab" * 32)]
        metrics = [MetricRow("matthews", scores[held.run_id], "validation", 7), MetricRow("best_step", 7)]
        files = [] if held.kind == "floor" else [Artifact("head", f"{held.run_id}/head", 1, "ab" * 32)]
        finish(store, held, Result([*metrics, MetricRow("last_step", 7)], artifacts=files, predictions=predicted))
    return store


@pytest.mark.parametrize(
    ("scores", "constant", "best", "remarks"),
    [
        ({"a": 0.653, "b": 0.5, "bow": 0.89}, {"a"}, "bow", ["the best model is b seed 0 (50.0, not 89.0)"]),
        ({"a": 0.653, "b": 0.653, "bow": 0.89}, {"a", "b"}, "bow", []),
        ({"a": 0.95, "b": 0.5, "bow": 0.89}, set(), "a", []),
        ({"a": 0.89, "b": 0.5, "bow": 0.89}, set(), "a", ["equal on validation of cola (89.0): bag-of-words"]),
        ({"a": 0.653, "b": 0.6, "bow": 0.5}, {"a"}, "b", []),
        ({"a": 0.653, "b": 0.653, "bow": 0.653}, {"a", "b", "bow"}, None, []),
    ],
)
def test_the_best_that_is_exported_may_be_a_trivial_baseline_and_is_no_constant(
    scores: dict[str, float], constant: set[str], best: str | None, remarks: list[str], tmp_path: Path
) -> None:
    floor = replace(run("bag-of-words", "cola", None, kind="floor"), id="bow")
    runs = [floor, *(replace(run(name, "cola"), id=name) for name in ("a", "b"))]
    store = built_with_outputs(tmp_path / "r.db", runs, scores, constant)
    choices = best_kept(store, "exp", ("bag-of-words",))
    assert [choice.run.run_id for choice in choices] == ([] if best is None else [best])
    assert [line for choice in choices for line in choice.remarks()] == remarks
    assert all(choice.run.is_baseline == (best == "bow") for choice in choices)


def test_a_trivial_baseline_with_a_score_on_test_alone_is_not_chosen(tmp_path: Path) -> None:
    runs = [run("a", "trec", split="test"), run("bag-of-words", "trec", None, split="test", kind="floor")]
    scores = {"a-trec": {"test": 0.5, "holdout": 0.6}, "bag-of-words-trec-None": {"test": 0.9}}
    store = built(tmp_path / "r.db", runs, scores, {"a-trec"})
    (choice,) = best_kept(store, "exp", ("bag-of-words",))
    assert choice.run.model == "a" and choice.remarks() == []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two models with two seeds on two tasks, where one has ties, and a trivial baseline."""
    runs = [run(model, task, seed) for task in ("cola", "rte") for model in ("a", "b") for seed in (0, 1)]
    runs.append(run("bag-of-words", "rte", None, kind="floor"))
    values = {"a-cola": 0.5, "a-cola-1": 0.1 + 0.2, "b-cola": 0.3, "b-cola-1": 0.25}
    scores = {row.id: {"validation": values.get(row.id, 0.6)} for row in runs}
    return built(
        tmp_path_factory.mktemp("trained") / "r.db", runs, scores, {row.id for row in runs if row.seed is not None}
    )


def test_ties_are_named_and_the_first_of_the_plan_is_taken(store: Store) -> None:
    choice = chosen_run(store, None, "rte", None, None)
    assert choice.run.run_id == "a-rte"
    assert choice.remarks() == ["equal on validation of rte (60.0): a seed 1, b seed 0, 1 more"]


def test_one_model_or_seed_is_chosen_by_name(store: Store) -> None:
    assert chosen_run(store, "exp", "cola", "b", None).run.run_id == "b-cola"
    assert chosen_run(store, "exp", "cola", None, 1).run.run_id == "a-cola-1"  # 0.1 + 0.2 is a little above 0.3
    assert chosen_run(store, "exp", "rte", "bag-of-words", None).run.kind == "floor"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ((None, None, None), r"exp has 2 tasks; name one with --task: cola, rte"),
        (("colla", None, None), r"--task colla: .* did you mean 'cola'\? \(there is: cola, rte\)"),
        (("cola", "c", None), r"--model c: no finished training of it on cola in exp \(there is: a, b\)"),
        (("cola", "a", 7), r"--seed 7: .* \(there is: 0, 1\)"),
        (("cola", "bag-of-words", None), r"--model bag-of-words: no finished training of it on cola"),
    ],
)
def test_what_is_not_there_is_one_line_with_what_is(
    store: Store, named: tuple[str | None, str | None, int | None], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        chosen_run(store, "exp", *named)
