"""`hashbench data import-predictions`: rows beside an experiment's, paired by compare, in no claim, budget or group."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.results.exchange.checking import find_damage
from hashbench.results.read.comparison import compare
from hashbench.results.read.measured import measure
from hashbench.results.read.overview import listed_experiments
from hashbench.results.read.scores import results
from hashbench.results.read.trained import NO_TRAINING
from hashbench.results.tables.comparison import comparison_table
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.schema import Experiment
from hashbench.running.runs.base import stored_predictions
from hashbench.running.runs.evaluation import IMPORTED_PREDICTIONS
from hashbench.running.sweep.importing import import_predictions
from hashbench.scores.base import find_metric
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish, void


@pytest.fixture(scope="module")
def data() -> TaskData:
    return load_task(find_task("cola"), open_sources("builtin"))


@pytest.fixture
def store(tmp_path: Path, data: TaskData) -> Store:
    """Experiment `mine`: two models with two seeds on cola, of which each has other examples wrong."""
    config = {"name": "mine", "data": "builtin", "models": ("bert-mlm", "sgnn"), "tasks": ("cola",), "seeds": (0, 1)}
    runs = []
    for model in ("bert-mlm", "sgnn"):
        for seed in (0, 1):
            task = {"name": "cola"}
            spec = {"kind": "finetune", "model": {"like": model}, "task": task, "data": data.fingerprint, "seed": seed}
            runs.append(
                Run(
                    run_id(spec),
                    "finetune",
                    model,
                    "tiny",
                    spec,
                    task="cola",
                    seed=seed,
                    metric="matthews",
                    split="validation",
                    data_fingerprint=data.fingerprint,
                )  # fmt: skip
            )
    store = open_store(tmp_path / "results.db")
    number = add_experiment(store, "mine", Experiment.model_validate(config).stored(), runs, baseline="bert-mlm")
    targets = data.splits["validation"].labels
    for place in range(len(runs)):
        held = claim(store, number, worker="w", lease_s=60, max_attempts=1)
        assert held is not None
        outputs = np.where(np.arange(len(targets)) % (5 + place) == 0, 1 - targets, targets)
        metrics = [
            MetricRow("best_step", 1),
            MetricRow("last_step", 1),
            MetricRow("matthews", find_metric("matthews").score(targets, outputs), "validation", 1),
        ]
        stored = [stored_predictions("validation", "best", outputs, targets)]
        finish(store, held, Result(metrics, stored, notes={"origin": "built-in data", "data": ""}))
    return store


def write(path: Path, data: TaskData, wrong: int) -> Path:
    """Samples of another program that has every `wrong`-th example wrong."""
    part = data.splits["validation"]
    rows = [
        {"sentence": text, "label": label, "prediction": 1 - label if i % wrong == 0 else label}
        for i, (text, label) in enumerate(zip(part.texts[0], part.labels.tolist(), strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    return path


def test_imported_predictions_are_paired_with_every_seed(store: Store, data: TaskData, tmp_path: Path) -> None:
    file = write(tmp_path / "other.jsonl", data, 3)
    done = import_predictions(store, file, task="cola", name="other")
    n = len(data.splits["validation"])
    assert done.is_new and done.scores["accuracy"] == pytest.approx(1 - len(range(0, n, 3)) / n)
    assert not import_predictions(store, file, task="cola", name="other").is_new
    compared = compare([store], "sgnn", "other")
    [line] = compared.lines
    assert line.seeds == (0, 1) and line.difference.n_examples == n and line.difference.spread == "seeds and examples"
    facts = dict(comparison_table(compared).provenance)
    assert facts["imported predictions"].startswith("B (other.jsonl, rows: 200 examples of validation matched")
    assert [str(damage) for damage in find_damage(store, identify=run_id, files=tmp_path)] == []


def test_tables_mark_them_and_nothing_else_reads_them(store: Store, data: TaskData, tmp_path: Path) -> None:
    before = tables(store, ReportRequest(ranks=True)), measure(store)
    import_predictions(store, write(tmp_path / "other.jsonl", data, 50), task="cola", name="other")
    measured = measure(store)
    assert measured.entries == before[1].entries and measured.runs == before[1].runs
    assert measured.labels() == {"bert-mlm", "sgnn"} and IMPORTED_PREDICTIONS.name in NO_TRAINING
    scores = results(store, "mine").groupby("model").size().to_dict()
    assert scores == {"bert-mlm": 2, "sgnn": 2, "other (imported)": 1}
    [listed] = listed_experiments(store)
    assert (listed.models, listed.encoders) == (("bert-mlm", "sgnn"), ("tiny",))
    [table] = tables(store)
    [row] = [row for row in table.rows if row.kind == "imported"]
    assert row.title == "other (imported)" and "in no claim, budget or group" in row.section
    assert row.cells["cola"].value is not None and not row.cells["cola"].best and not row.cells["cola"].rating
    [after], [ranks] = tables(store, ReportRequest(ranks=True)), before[0]
    assert after.rows == ranks.rows


def test_void_predictions_are_imported_again(store: Store, data: TaskData, tmp_path: Path) -> None:
    file = write(tmp_path / "other.jsonl", data, 3)
    run = import_predictions(store, file, task="cola", name="other").run_id
    void(store, run, "wrong file")
    assert measure(store).imported == ()
    assert import_predictions(store, file, task="cola", name="other").is_new
    assert [entry.model for entry in measure(store).imported] == ["other"]


def test_wrong_input(store: Store, data: TaskData, tmp_path: Path) -> None:
    file = write(tmp_path / "other.jsonl", data, 3)
    import_predictions(store, file, task="cola", name="other")
    for name, task, message in (
        ("sgnn", "cola", "is a model of experiment mine; give another --name"),
        ("majority", "cola", "is the name of a trivial baseline"),
        ("a b", "cola", "is no name; it has at most 128 letters"),
        ("x", "kola", "no task 'kola'; did you mean 'cola'?"),
    ):
        with pytest.raises(InputError) as raised:
            import_predictions(store, file, task=task, name=name)
        assert message in str(raised.value)
    with pytest.raises(InputError, match="'other': other predictions on cola have this name in mine"):
        import_predictions(store, write(tmp_path / "two.jsonl", data, 4), task="cola", name="other")
