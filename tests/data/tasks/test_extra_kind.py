"""A kind of task is one file: put into a folder, its tasks are listed, planned, trained, stored and reported."""

from __future__ import annotations

import csv
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.data.tasks.catalogue import expand_tasks, groups, known_kinds, known_tasks
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan
from hashbench.store.engine import open_store

pytestmark = pytest.mark.usefixtures("warm_workers")

KIND = '''
"""Made up: texts with a degree, low, middle or high, as a number."""

import numpy as np
from pydantic import Field
from sklearn.linear_model import LinearRegression

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import Strict
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_baselines import majority
from hashbench.models.objectives.heads import ClassificationHead

DEGREES = {"low": 0, "middle": 1, "high": 2}


class DegreesBlock(Strict):
    "How degrees become numbers."

    step: float = Field(default=1.0, gt=0, description="between two degrees")


def long_texts(data, splits, *, for_test=False):
    """The number of characters of each text (n,)."""
    return {split: np.array([float(len(text)) for text in data.splits[split].texts[0]]) for split in splits}


class DegreesHead(ClassificationHead):
    """A value near the middle degree."""

    name = "degrees"

    def outputs(self, model, batch):
        return super().outputs(model, batch) + 1.0


class Degrees(TextKind):
    """Labels are degrees (n,) float32."""

    name = "degrees"
    outputs = "values"
    common_metrics = ("spearman",)
    own_classes = 1
    head = DegreesHead
    baselines = {"majority": majority, "length": long_texts}
    block = DegreesBlock
    block_help = "of degrees"

    def read_labels(self, task, cells, where, names):
        for split, column in cells.items():
            for cell in column:
                if cell not in DEGREES:
                    raise InputError(f"{where[split]}: {cell!r} is no degree; write low, middle or high")
        step = task.protocol.step
        numbers = {split: [step * DEGREES[cell] for cell in column] for split, column in cells.items()}
        return {split: np.array(column, np.float32) for split, column in numbers.items()}, task

    def label_notes(self, splits, names):
        return []

    def constant(self, labels):
        return np.median(labels)

    def linear_model(self, labels, tolerance):
        return LinearRegression()


KIND = Degrees()
TASKS = [
    Task("tides", KIND, ("text",), metrics=("spearman",), select_metric="spearman", n_classes=1, collection="seas")
]
'''
# Spearman of lengths 11, 14, 12, 11, 14, 12, 11, 14, 12, 11, 15, 13 with degrees 0, 1, 2, ..., in percent, by scipy
LENGTH = 48.87
EXPERIMENT = """
name: tides
data: [data, builtin]
encoder: tiny
models: [hashformer-md-emb-1k]
baseline: hashformer-md-emb-1k
tasks: [tides]
seeds: [0]
floors: [majority, bag-of-words, length]
degrees: {step: 0.5}
pretrain: {corpora: [builtin], steps: 3, batch_size: 4, sequence_length: 16}
finetune: {epochs: 1, batch_size: 16, max_length: 16, evaluations_per_epoch: 1}
threads: 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the kind's file, an experiment, and data where they are looked for."""
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "degrees.py").write_text(KIND)
    (tmp_path / "tides.yaml").write_text(EXPERIMENT)
    home = tmp_path / "data" / "seas" / "tides"
    home.mkdir(parents=True)
    degrees = ["low", "middle", "high"]
    for split, n in (("train", 48), ("validation", 12)):
        rows = "\n".join(f"water {degrees[i % 3]} {i},{degrees[i % 3]}" for i in range(n))
        (home / f"{split}.csv").write_text(f"text,label\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "kinds"))
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str, object]]:
    def command(*arguments: str) -> tuple[str, str, object]:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        return *capsys.readouterr(), left.value.code

    return command


@pytest.mark.e2e
def test_a_file_in_a_folder_is_a_kind(run: Callable[..., tuple[str, str, object]], folder: Path) -> None:
    out, err, code = run("sweep", "tides.yaml")
    assert not code, err
    out, err, code = run("report", "--format", "csv")
    assert not code, err
    values = {row["model"]: row["value"] for row in csv.DictReader(io.StringIO(out)) if row["column"] == "tides"}
    assert -100 <= float(values["hashformer-md-emb-1k"]) <= 100
    assert "bag-of-words" not in values, "not a baseline of this kind"
    assert float(values["length"]) == pytest.approx(LENGTH, abs=0.01)
    stored = open_store(str(folder / "results.db"), create=False).query(
        "SELECT r.kind AS kind, r.model AS model, m.value AS value, m.reason AS reason FROM run r "
        "JOIN attempt a ON a.id = r.finished_attempt JOIN metric m ON m.attempt_id = a.id "
        "WHERE m.name = 'spearman' AND m.split = 'validation'"
    )
    assert {row["kind"] for row in stored} == {"floor", "finetune"}
    assert {row["reason"] for row in stored if row["model"] == "majority"} == {"the predictions are constant"}
    _, err, code = run("export", "folder", "--experiment", "tides", "--task", "tides")
    assert code == 2 and "its kind of task, degrees, has a head with outputs of its own" in err
    assert not (folder / "folder").exists()


def test_its_errors_are_one_line(run: Callable[..., tuple[str, str, object]], folder: Path) -> None:
    (folder / "data" / "seas" / "tides" / "validation.csv").write_text("text,label\na,lowest\n")
    _, err, code = run("sweep", "tides.yaml")
    assert code == 2 and "'lowest' is no degree; write low, middle or high" in err


def test_its_block_is_a_key_of_the_file(run: Callable[..., tuple[str, str, object]], folder: Path) -> None:
    loaded = load_experiment("tides.yaml")
    assert loaded.experiment.task_blocks["degrees"].model_dump() == {"step": 0.5}
    assert list(loaded.experiment.task_blocks) == ["entities", "minimal_pairs", "phrases", "degrees"]
    assert pickle.loads(pickle.dumps(loaded.experiment)) == loaded.experiment
    _, err, code = run("check", "tides.yaml", "degrees.step=0")
    assert code == 2 and "override degrees.step=0: degrees.step: must be greater than 0.0, not 0;" in err
    _, err, code = run("check", "tides.yaml", "degrees.steps=1")
    assert code == 2 and "unknown key 'degrees.steps'; did you mean 'step'?" in err
    out, _, _ = run("schema")
    assert json.loads(out)["properties"]["degrees"]["description"] == "of degrees"


def test_its_baseline_is_one_to_ask_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_experiment("tides.yaml").experiment.floors == ("majority", "bag-of-words", "length")
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    told = r"entry 3 of floors: must be 'majority', .* or 'shorter-sentence' or a block of keys, not 'length'"
    with pytest.raises(InputError, match=told):
        load_experiment("tides.yaml")


def test_another_block_is_another_run(folder: Path) -> None:
    half, whole = (plan(load_experiment("tides.yaml", overrides)) for overrides in ([], ["degrees.step=1"]))
    same = {run.id for run in half.runs} & {run.id for run in whole.runs}
    assert {run.kind for run in half.runs if run.id in same} == {"pretrain"}


def test_a_block_takes_no_key_of_the_file(folder: Path) -> None:
    file = folder / "kinds" / "degrees.py"
    file.write_text(KIND.replace('name = "degrees"', 'name = "seeds"'))
    with pytest.raises(InputError, match="kind of task 'seeds': its block would stand where seeds does; rename it"):
        load_experiment("tides.yaml")


def test_groups_stay_as_they_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "degrees" in known_kinds() and "tides" in known_tasks()
    with_it = groups(), [task.name for task in expand_tasks("glue", folder)]
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    assert "tides" not in known_tasks()
    assert with_it == (groups(), [task.name for task in expand_tasks("glue", folder)])
