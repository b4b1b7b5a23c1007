"""The example database against the code of today: its experiments are the files, and its curves repeat."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import torch

from hashbench.running.experiment.load import load_experiment
from hashbench.running.runs.base import Workplace, kind_of
from hashbench.running.sweep.plan import Plan, plan
from hashbench.running.sweep.runner import assign
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run
from hashbench.store.status import experiments, runs

HERE = Path(__file__).resolve().parents[3]
DATA = Path(os.environ["HASHBENCH_TEST_DATA"] if "HASHBENCH_TEST_DATA" in os.environ else HERE.parent / "shared/data")
# The times of the other experiments are still those of an older way to measure them.
NAMES = ["pretraining_tiny", "robustness_tiny", "superbloom_entities_tiny", "superbloom_text_tiny", "tagging_tiny"]
# Experiment, model, kind and task of a run that needs no other: one of each way to learn.
REPEATED = [
    ("superbloom_entities_tiny", "a5-l2", "entities", "entities"),
    ("superbloom_entities_tiny", "sampled-l2", "entities", "entities"),
    ("proformer_tiny", "sgnn", "finetune", "atis"),
    ("canine_tiny", "canine-c-scratch", "finetune", "mrpc"),
    ("glue_tiny", "hashformer-md-proj", "pretrain", None),
]
# Experiments of larger data, and the kinds of run that are not stored of them
OF_LARGER_DATA: dict[str, set[str]] = {"embeddings_tiny": set(), "embeddings_tiny_common": {"robustness"}}
POINTS = 3  # of the loss curve that are repeated
# Relative: another processor rounds differently, and differences grow with the steps; bf16 has 8 bits.
CLOSE = {"32": 1e-3, "bf16": 2e-2}

pytestmark = pytest.mark.skipif(
    not (DATA / "glue").is_dir(), reason="no real data: set HASHBENCH_TEST_DATA to the folder the example was made from"
)


@pytest.fixture(scope="module")
def example() -> Store:
    return open_store(HERE / "results.db.example", create=False, read_only=True)


def planned(name: str) -> Plan:
    larger = [str(DATA.parent / "data_larger")] if name in OF_LARGER_DATA else []
    return plan(load_experiment(HERE / "experiments" / f"{name}.yaml"), data=[*larger, str(DATA)])


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_runs_are_those_of_the_file(example: Store, name: str) -> None:
    """Each run that is stored is one that the file asks for today, and each that it asks for is stored."""
    experiment = next(each for each in experiments(example) if each.name == name)
    stored = {row.run_id for row in runs(example, experiment.id) if row.state == "done"}
    assert stored == {run.id for run in planned(name).runs}


@pytest.mark.skipif(not (DATA.parent / "data_larger").is_dir(), reason="no larger data beside the real data")
@pytest.mark.parametrize(("name", "left"), OF_LARGER_DATA.items())
def test_the_joined_files_plan_no_new_training(example: Store, name: str, left: set[str]) -> None:
    """What `embeddings_tiny` names was done as two experiments; of the other, noisy texts of some models are left."""
    experiment = next(each for each in experiments(example) if each.name == name)
    stored = {row.run_id for row in runs(example, experiment.id) if row.state == "done"}
    every = planned(name).runs
    assert {run.kind for run in every if run.id not in stored} == left and stored <= {run.id for run in every}
    assert {run.spec["seed"] for run in every if run.kind == "pretrain"} == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model", "kind", "task"), REPEATED, ids=lambda value: str(value))
def test_the_first_steps_of_a_stored_run_repeat(
    example: Store, name: str, model: str, kind: str, task: str | None, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    whole = planned(name)
    run = next(run for run in whole.runs if (run.model, run.kind, run.task) == (model, kind, task))
    place = assign(whole, db="unused.db", experiment_id=0, n_workers=1).workplace()
    sql = (
        "SELECT m.step, m.value FROM metric m JOIN run r ON r.finished_attempt = m.attempt_id "
        "WHERE r.id = :id AND m.split = 'train' AND m.name = 'loss' ORDER BY m.step LIMIT :points"
    )
    stored = {row["step"]: row["value"] for row in example.query(sql, id=run.id, points=POINTS)}
    recipe = run.spec["pretrain" if kind == "pretrain" else "finetune"]
    assert first_losses(run, place, tmp_path / "scratch") == pytest.approx(stored, rel=CLOSE[recipe["precision"]])


def first_losses(run: Run, place: Workplace, folder: Path) -> dict[int, float]:
    """The first points of the loss curve of a run, which is stopped behind them."""
    losses: dict[int, float] = {}
    stop = threading.Event()

    def watch(values: dict[str, float], step: int, total_steps: int, before: int) -> None:
        if "train/loss" in values and len(losses) < POINTS:
            losses[step] = values["train/loss"]
        if len(losses) == POINTS:
            stop.set()

    torch.set_num_threads(1)
    folder.mkdir()
    with pytest.raises(Interrupted):
        kind_of(run).carry_out(run, place, Machine(folder, should_stop=stop, watch=watch))
    return losses
