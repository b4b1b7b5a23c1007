"""A kind of run is one file: put into a folder, its runs are planned, carried out, stored and reported."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.store.engine import open_store
from hashbench.store.status import experiments, runs

pytestmark = pytest.mark.usefixtures("warm_workers")

KIND = '''
"""Made up: scores a task by the size of a fine-tuning's best weights."""

from hashbench.running.runs.base import RunKind
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.common.measured import MetricRow
from hashbench.store.result import Result


class Size(RunKind):
    """Each task, once its fine-tunings are done."""

    name = "size"
    order = 35

    def planned(self, resolved):
        for task in resolved.tasks:
            tuned = [FINETUNING.of(resolved, model, task, 0).id for model in resolved.models.values()]
            size = resolved.experiment.encoder
            yield self.make(size, "by size", {"of": tuned}, task=task, seed=0, needs=tuple(tuned))

    def carry_out(self, run, place, machine):
        sizes = [place.artifacts.waiting(tuned).weights.stat().st_size for tuned in run.needs]
        score = MetricRow(run.metric, 0.25, split=run.split, step=1)
        steps = [MetricRow("best_step", 1), MetricRow("last_step", 1)]
        return Result(metrics=[*steps, MetricRow("bytes", sum(sizes)), score])

    def seconds(self, run, rows):
        return 120.0


KIND = Size()
'''
EXPERIMENT = """
name: made-up
data: builtin
encoder: tiny
models: [{name: raw, like: hashformer-md-proj, objective: none}]
baseline: raw
tasks: [cola]
seeds: [0]
floors: []
finetune: {epochs: 1, batch_size: 64, max_length: 16, evaluations_per_epoch: 1}
threads: 1
keep_weights: pretrained
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the program prints on stdout."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert not left.value.code, err
    return out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the experiment, and beside it the folder with the kind's file."""
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds/size.py").write_text(KIND)
    (tmp_path / "made_up.yaml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "kinds"))
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    return tmp_path


def test_a_file_in_a_folder_is_a_kind_of_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned = call(capsys, "sweep", "made_up.yaml", "--dry-run").splitlines()
    assert ["finetune" in planned[0], "size" in planned[1]] == [True, True]
    assert planned[1].endswith("by size cola seed 0  about 2 min")

    call(capsys, "sweep", "made_up.yaml")
    store = open_store(folder / "results.db")
    stored = {run.kind: run.state for run in runs(store, experiments(store)[0].id)}
    assert stored == {"finetune": "done", "size": "done"}
    sizes = store.query("SELECT value FROM metric WHERE name = 'bytes'")
    assert sizes[0]["value"] > 100_000  # the fine-tuning kept its best weights for the run that waited for it

    rows = list(csv.DictReader(io.StringIO(call(capsys, "report", "--format", "csv"))))
    assert {row["model"]: row["value"] for row in rows if row["column"] == "cola"}["by size"] == "25.0"
