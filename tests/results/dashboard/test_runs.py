"""What is shown must be the database's numbers, under ids that depend on the runs alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hashbench.common.errors import InputError
from hashbench.results.dashboard.runs import MODEL, shown
from hashbench.results.tables.report import tables
from tests.databases.made_up import SHIFT, build
from tests.results.dashboard.conftest import world

BEST, LAST = 200, 300  # steps of the made-up fine-tunings


def of(found, kind, model, task=None, seed=None):
    runs = [run for run in found.runs if run.kind == kind and run.config["model_name"] == model]
    return next(run for run in runs if run.config["task_name"] == task and (seed is None or run.config["seed"] == seed))


def test_one_run_each_for_finished_runs_models_and_floors(store) -> None:
    found = shown(store)
    kinds = [run.kind for run in found.runs]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "pretrain": 2, "floor": 4, "finetune": 7, "efficiency": 2, MODEL: 4,
    }  # fmt: skip
    assert found.n_open == 1  # the failed one
    assert len({run.id for run in found.runs}) == len(found.runs)
    done = store.query("SELECT id FROM run WHERE state = 'done'")
    assert {row["id"][:32] for row in done} <= {run.id for run in found.runs}


def test_another_database_with_the_same_runs_has_the_same_ids(store, tmp_path) -> None:
    again = build(tmp_path / "again.db", world())
    ids = [[run.id for run in shown(one).runs] for one in (store, again)]
    assert ids[0] == ids[1]
    fewer = build(tmp_path / "fewer.db", world(seeds=(0,)))
    assert {run.id for run in shown(fewer).runs} < set(ids[0])


def test_the_summary_is_of_the_reported_evaluation_and_the_curve_has_all(store) -> None:
    run = of(shown(store), "finetune", "hashformer-lsh-proj", "sst2", 0)
    steps = dict(run.history)
    score = steps[BEST]["validation/accuracy"]
    assert list(steps) == [10, 100, 200, 300]
    assert steps[LAST]["validation/accuracy"] == pytest.approx(score - 0.01)
    assert run.summary["validation/accuracy"] == run.summary["score"] == score
    assert run.summary["best_step"] == BEST and steps[LAST]["train/loss"] == 2.0 / 7
    assert "train/loss" not in run.summary


def test_an_undefined_score_is_missing_with_its_reason(store) -> None:
    run = of(shown(store), "finetune", "bert-mlm", "cola", 0)
    assert "score" not in run.summary and "validation/matthews" not in run.summary
    assert run.summary["missing"] == "validation/matthews: constant predictions"


def test_the_config_has_the_spec_and_the_names(store) -> None:
    run = of(shown(store), "finetune", "bert-mlm", "sst2", 1)
    row = store.query("SELECT spec FROM run WHERE id = :id", id=run.config["run_id"])[0]
    assert run.config["encoder"] == "tiny" and run.config["seed"] == 1 and run.name == "bert-mlm sst2 seed 1"
    spec = json.loads(row["spec"])
    assert {key: run.config[key] for key in spec} == spec and spec["finetune"]["learning_rate"] == 3e-5
    assert "secret-host" not in str(run.config)


def test_a_models_run_has_what_the_report_prints(store) -> None:
    found = shown(store)
    summary = of(found, MODEL, "hashformer-lsh-proj").summary
    table = tables(store)[0]
    row = next(row for row in table.rows if row.model == "hashformer-lsh-proj")
    assert 100 * summary["score/sst2"] == pytest.approx(row.cells["sst2"].value)
    assert 100 * summary["average"] == pytest.approx(row.cells["average"].value)
    assert summary["total_params"] == pytest.approx(row.cells["total_params"].value * 1e6)
    assert summary["speed_up/pretrain"] == pytest.approx(24.9 / 11.6)
    first = of(found, "finetune", "hashformer-lsh-proj", "sst2", 0).summary["score"]
    assert summary["score/sst2"] == pytest.approx(first + SHIFT / 2)  # the mean of seeds 0 and 1


def test_a_run_of_two_experiments_carries_both_names(tmp_path) -> None:
    build(tmp_path / "two.db", world(seeds=(0,), name="first"))
    two = build(tmp_path / "two.db", world(name="second"))
    assert of(shown(two, "second"), "finetune", "bert-mlm", "sst2", 0).tags == ("first", "second", "task sst2")
    assert of(shown(two, "second"), "finetune", "bert-mlm", "sst2", 1).tags == ("second", "task sst2")


def test_a_fingerprint_tells_runs_apart_by_what_they_show(store) -> None:
    run = shown(store).runs[0]
    assert run.fingerprint() == shown(store).runs[0].fingerprint()
    assert run.fingerprint() != replace(run, summary={"loss": 0.0}).fingerprint()


def test_an_unknown_experiment(store) -> None:
    with pytest.raises(InputError, match="no experiment 'made-upp'; did you mean 'made-up'?"):
        shown(store, "made-upp")
