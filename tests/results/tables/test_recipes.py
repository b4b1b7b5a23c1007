"""What tables say of how recipe values were chosen: declared, searched by the sweep, or not declared."""

from __future__ import annotations

from pathlib import Path

from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

MODELS = ("bert-mlm", "hashformer-md-emb-50k")
RATE = {"tried": [3e-5, 1e-4], "on": "validation", "by": "accuracy on rte"}


def _table(folder: Path, tuning: dict, number: str = "1") -> Table:
    world = World(models=MODELS, tasks=("rte",), seeds=(0,), steps=1_000, config={"tuning": tuning})
    return tables(build(folder / "results.db", world), ReportRequest(table=number))[0]


def test_what_is_not_declared_is_said_to_be_so(tmp_path: Path) -> None:
    facts = dict(_table(tmp_path, {}).provenance)
    assert facts["tuning"] == "not declared"
    assert "learning_rate 3e-05; " in facts["fine-tuning"]
    assert "searched" not in str(facts)


def test_declarations_stand_with_the_models_that_they_hold_for(tmp_path: Path) -> None:
    everyone = {model: {"finetune.learning_rate": RATE} for model in MODELS}
    everyone["bert-mlm"] |= {"pretrain.steps": {"tried": [500, 1_000], "on": "validation", "by": ""}}
    table = _table(tmp_path, everyone)
    facts = dict(table.provenance)
    assert facts["tuning"] == (
        "finetune.learning_rate tried 3e-05, 0.0001 on validation (accuracy on rte); "
        "pretrain.steps tried 500, 1,000 on validation for bert-mlm; all other values: not declared"
    )
    assert "pre-training steps 1,000 for bert-mlm (paper: 500,000; tuned on validation)" in facts["deviations"]
    assert "pre-training steps 1,000 for hashformer-md-emb-50k (paper: 500,000);" in facts["deviations"]
    assert not any("TUNED" in line for line in table.warnings)


def test_a_trained_vocabulary_of_another_size_than_the_papers_is_named(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", World(models=MODELS, tasks=("rte",), seeds=(0,)))
    assert "trained vocabulary" not in dict(tables(store, ReportRequest(table="1"))[0].provenance)["deviations"]
    with store.write() as connection:
        connection.exec_driver_sql("""UPDATE run SET spec = replace(spec, '"train":50265', '"train":1000')""")
    deviations = dict(tables(store, ReportRequest(table="1"))[0].provenance)["deviations"]
    assert "trained vocabulary 1,000 (paper: 50,265)" in deviations  # of the one model that learns its own


def test_what_was_chosen_on_reported_rows_is_said_loudly(tmp_path: Path) -> None:
    table = _table(tmp_path, {"bert-mlm": {"finetune.learning_rate": RATE | {"on": "test"}}})
    assert any(
        line == "TUNED ON WHAT IS REPORTED: finetune.learning_rate on test for bert-mlm: these scores are optimistic."
        for line in table.warnings
    )
    times = _table(tmp_path, {"bert-mlm": {"finetune.learning_rate": RATE | {"on": "test"}}}, "3")
    assert not any("TUNED" in line for line in times.warnings)  # it holds no scores


def test_a_grid_of_the_sweep_is_declared_by_itself(small_store: Store) -> None:
    facts = dict(tables(small_store, ReportRequest(table="1"))[0].provenance)
    assert facts["tuning"] == (
        "finetune.learning_rate tried 0.0001, 0.0005 on held-out tenth of train (searched by the sweep in each run); "
        "all other values: not declared"
    )


def test_a_tasks_own_recipe_is_told_from_the_others(tmp_path: Path) -> None:
    world = World(models=MODELS, tasks=("rte", "cola"), seeds=(0,), learning_rate=1e-3)
    world.config["tuning"] = {model: {"finetune.per_task.rte.learning_rate": RATE} for model in MODELS}
    deviations = dict(tables(build(tmp_path / "r.db", world), ReportRequest(table="1"))[0].provenance)["deviations"]
    assert "fine-tuning learning_rate 0.001 on rte (paper: 3e-05; tuned on validation)" in deviations
    assert "fine-tuning learning_rate 0.001 on cola (paper: 3e-05);" in deviations
