"""Sweeps from Python: the lines of python.md in a notebook, interruptions, the command that is kept."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from lightning.pytorch import Trainer

import hashbench
from hashbench.common.errors import InputError
from hashbench.results.rendering.notebook import Report
from hashbench.running.sweep import notebook
from hashbench.store.engine import open_results, open_store
from hashbench.store.planning import add_experiment
from hashbench.store.status import experiments
from tests.commands import finish

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
FILE = """\
name: mine
data: builtin
encoder: tiny
models: [hashformer-md-proj]
baseline: hashformer-md-proj
tasks: [cola]
seeds: [0]
floors: [majority]
pretrain: {corpora: [builtin], steps: 2, batch_size: 4, sequence_length: 16, max_documents: 30}
finetune: {steps: 2, batch_size: 8, max_length: 16}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path("mine.yaml").write_text(FILE)
    return tmp_path


def test_a_call_is_a_command_and_gives_the_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def carried_out(loaded, **options: object) -> int:
        asked.append((loaded.experiment.finetune.steps, options, sys.argv))
        store = open_store("mine.db")
        add_experiment(store, "mine", {"name": "mine"}, [], baseline="hashformer-md-proj")
        store.close()
        return 1

    monkeypatch.setattr(notebook, "carry_out", carried_out)
    before = sys.argv
    shown = hashbench.sweep("mine.yaml", "finetune.steps=3", db="mine.db", data="builtin", workers=1)
    assert isinstance(shown, Report) and sys.argv is before
    ((steps, options, command),) = asked
    assert steps == 3 and command == ["hashbench", "sweep", "mine.yaml", "finetune.steps=3", "--db", "mine.db"]
    assert options == {"db": "mine.db", "data": ["builtin"], "workers": 1, "max_hours": None}


def test_an_experiment_may_be_a_dict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []
    monkeypatch.setattr(notebook, "carry_out", lambda loaded, **options: commands.append(sys.argv) or 130)
    with pytest.raises(notebook.SweepNotDone, match=r"^mine \(from Python\): interrupted"):
        hashbench.sweep({"name": "mine", "models": ["bert-mlm"]}, "seeds=[0]", db="mine.db")
    assert commands == [["hashbench", "sweep", "mine (from Python)", "seeds=[0]", "--db", "mine.db"]]


def test_what_is_no_path_is_one_line() -> None:
    with pytest.raises(InputError, match="^hashbench.sweep: list given; give a YAML file, a name"):
        hashbench.sweep(["mine.yaml"])  # type: ignore[arg-type]


def test_an_interruption_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "carry_out", lambda loaded, **options: 130)
    with pytest.raises(notebook.SweepNotDone, match="mine.yaml: interrupted; the same call goes on"):
        hashbench.sweep("mine.yaml")


def test_a_trainer_of_ones_own_computes_the_same_losses(folder: Path) -> None:
    """A plain Trainer, with its try of the validation before the first step, as a sweep: pre-training and task."""
    own_trainer = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    settings = ("pretrain.steps=4", "finetune.steps=4")
    assert finish("sweep", "mine.yaml", *settings, "--db", "mine.db", "--workers", 1, cwd=folder).code == 0
    stored = (
        "SELECT value FROM metric JOIN run ON finished_attempt = attempt_id "
        "WHERE kind = ? AND name = 'loss' AND split = 'train' ORDER BY step"
    )
    for task, kind in ((None, "pretrain"), ("cola", "finetune")):
        chosen = {"model": "hashformer-md-proj", "task": task}
        module = hashbench.module("mine.yaml", *settings, **chosen)
        Trainer(max_steps=module.total_steps, **own_trainer).fit(
            module, hashbench.datamodule("mine.yaml", *settings, **chosen)
        )
        own = [point.value for point in module.curves.points if point.name == "loss"]
        with closing(sqlite3.connect("mine.db")) as results:
            assert len(own) == 4 and own == pytest.approx([value for (value,) in results.execute(stored, (kind,))])


def test_a_training_that_is_not_planned_is_one_line(folder: Path) -> None:
    with pytest.raises(InputError, match="mine: has no training of 'other' on 'cola'; its runs: hashformer-md-proj"):
        hashbench.module("mine.yaml", model="other", task="cola")
    with pytest.raises(InputError, match="finetune.learning_rate: a list to search; give one value"):
        hashbench.datamodule("mine.yaml", "finetune.learning_rate=[0.1, 0.2]", model="hashformer-md-proj", task="cola")


@pytest.mark.services
def test_the_lines_of_the_page_run_in_a_notebook(folder: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat")
    lines = re.search(r"\n((?:    .*\n)*    import hashbench\n(?:    .*\n)+)", PAGE.read_text())[1]  # type: ignore[index]
    cells = [nbformat.v4.new_code_cell(line.strip()) for line in lines.splitlines()]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    shown = [output.get("data", {}) for cell in book.cells for output in cell.outputs]
    tables = [data.get("text/html") or data.get("text/markdown") for data in shown]
    assert len([each for each in tables if each and "hashformer-md-proj" in each]) == 3
    (experiment,) = experiments(open_results("mine.db"))
    assert experiment.command == "sweep mine.yaml"
