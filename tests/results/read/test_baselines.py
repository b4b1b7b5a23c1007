"""Trivial baselines beside models: which there are, their values, and an F1 that accuracy does not bear out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.claims.report import claim_sections
from hashbench.results.read.measured import Measured, baseline_value, baselines, hollow_accuracy, measure
from hashbench.results.read.overview import listed_experiments
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store
from tests.databases.hand_made import HandRun, build
from tests.results.claims.world import claims_file

SPLIT = "validation"


def _run(model: str, task: str, *, seed: int | None = 0, **scores: float) -> HandRun:
    own = ("f1" if "f1" in scores else "accuracy", SPLIT)
    kind = "floor" if seed is None else "finetune"
    return HandRun(model, task, seed, {(name, SPLIT, ""): value for name, value in scores.items()}, kind=kind, own=own)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """`eager` says yes often; `sober` says it when it is so."""
    runs = [
        _run("eager", "qqp", f1=0.55, accuracy=0.60), _run("eager", "qqp", seed=1, f1=0.56, accuracy=0.61),
        _run("sober", "qqp", f1=0.54, accuracy=0.66), _run("sober", "qqp", seed=1, f1=0.54, accuracy=0.66),
        _run("majority", "qqp", seed=None, f1=0.0, accuracy=0.63),
        _run("bag-of-words", "qqp", seed=None, f1=0.5, accuracy=0.62),
        *(_run(model, "rte", seed=seed, accuracy=0.7) for model in ("eager", "sober") for seed in (0, 1)),
        _run("majority", "rte", seed=None, accuracy=0.53),
    ]  # fmt: skip
    return build(tmp_path / "results.db", runs)


@pytest.fixture
def measured(store: Store) -> Measured:
    return measure(store)


def test_the_baselines_of_a_task_are_those_with_a_run_on_it(measured: Measured) -> None:
    assert [entry.model for entry in baselines(measured, ["qqp"])] == ["majority", "bag-of-words"]
    assert [entry.model for entry in baselines(measured, ["rte"])] == ["majority"]
    assert baselines(measured, ["sst2"]) == []


def test_a_baseline_is_one_row_whatever_encoder_its_runs_were_planned_with(tmp_path: Path) -> None:
    """Experiments of other sizes share its runs; those of a model are rows of their own."""
    runs = [
        HandRun(model, task, None if kind == "floor" else 0, {("accuracy", SPLIT, ""): 0.5}, kind=kind, encoder=encoder)
        for model, kind in (("majority", "floor"), ("eager", "finetune"))
        for task, encoder in (("rte", "base"), ("sst2", "tiny"))
    ]
    entries = measure(build(tmp_path / "r.db", runs)).entries
    assert [entry.model for entry in entries if not entry.is_baseline] == ["eager", "eager"]
    (majority,) = (entry for entry in entries if entry.is_baseline)
    assert {run.task for run in majority.runs} == {"rte", "sst2"}


def test_an_experiment_is_listed_with_the_encoders_of_its_models(tmp_path: Path) -> None:
    runs = [
        HandRun("majority", "rte", scores={("accuracy", SPLIT, ""): 0.5}, kind="floor", encoder="base"),
        HandRun("eager", "rte", scores={("accuracy", SPLIT, ""): 0.6}, encoder="tiny"),
    ]
    (listed,) = listed_experiments(build(tmp_path / "r.db", runs))
    assert (listed.encoders, listed.models, listed.tasks) == (("tiny",), ("eager",), ("rte",))


def test_an_f1_counts_for_little_where_accuracy_is_below_the_majority_class(measured: Measured) -> None:
    eager, sober = (measured.find_entry(model) for model in ("eager", "sober"))
    assert eager is not None and sober is not None
    assert hollow_accuracy(measured, eager, "qqp", "f1", SPLIT) == pytest.approx((0.605, 0.63))
    assert hollow_accuracy(measured, sober, "qqp", "f1", SPLIT) is None
    assert hollow_accuracy(measured, eager, "qqp", "f1", "test") is None  # nothing is known there
    assert hollow_accuracy(measured, eager, "qqp", "accuracy", SPLIT) is None


def test_an_undefined_correlation_of_a_baseline_is_none_at_all(tmp_path: Path) -> None:
    measured = measure(build(tmp_path / "r.db", [_run("majority", "rte", seed=None, accuracy=0.53)]))
    entry = baselines(measured, ["rte"])[0]
    assert baseline_value(measured.read(entry, "rte", "accuracy", SPLIT)) == 0.53
    assert baseline_value([]) is None


def test_a_claim_on_an_average_with_such_an_f1_says_so(store: Store, tmp_path: Path) -> None:
    row = {"id": "own-1", "kind": "greater", "left": "eager", "right": "sober", "column": "average", "unit": "percent"}
    found = claim_sections(store, ReportRequest(claims_file=claims_file(tmp_path, [row])), draws=50)[-1].decided[0]
    mark = "the average counts F1 on qqp of eager, whose accuracy of 60.5 is below the majority class (63.0)"
    assert mark in found.marks
    alone = row | {"column": "qqp"}
    found = claim_sections(store, ReportRequest(claims_file=claims_file(tmp_path, [alone])), draws=50)[-1].decided[0]
    assert not any("F1" in each for each in found.marks)
