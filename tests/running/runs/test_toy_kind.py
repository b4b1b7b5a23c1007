"""A kind of run is one file: put into a folder, its runs are planned, carried out, stored and reported."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import hashbench
from hashbench.cli.app import main
from hashbench.running.runs.base import kinds
from hashbench.store.engine import open_store
from hashbench.store.kinds import metrics_of
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


PROBE = '''
"""Made up: probes each fine-tuned model on the task that it was trained on."""

from hashbench.extend import MetricRow, Result, RunKind
from hashbench.running.runs.finetuning import KIND as FINETUNING


class Probe(RunKind):
    """A number of each model that is no seed of its fine-tuning."""

    name = "probe"
    order = 35
    METRICS

    def planned(self, resolved):
        for task in resolved.tasks:
            for label, model in resolved.models.items():
                tuned = FINETUNING.of(resolved, model, task, 0)
                spec = {"model": tuned.spec["model"], "finetune": tuned.spec["finetune"], "of": tuned.id}
                yield self.make(resolved.experiment.encoder, label, spec, task=task, seed=9, needs=(tuned.id,))

    def carry_out(self, run, place, machine):
        split = "validation"
        score = MetricRow("matthews", -0.99, split=split, step=1)
        return Result(metrics=[MetricRow("best_step", 1), MetricRow("last_step", 1), score])


KIND = Probe()
'''


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
    assert planned[1].endswith("by size cola seed 0")

    call(capsys, "sweep", "made_up.yaml")
    store = open_store(folder / "results.db")
    stored = {run.kind: run.state for run in runs(store, experiments(store)[0].id)}
    assert stored == {"finetune": "done", "size": "done"}
    sizes = store.query("SELECT value FROM metric WHERE name = 'bytes'")
    assert sizes[0]["value"] > 100_000  # the fine-tuning kept its best weights for the run that waited for it

    rows = list(csv.DictReader(io.StringIO(call(capsys, "report", "--format", "csv"))))
    assert {row["model"]: row["value"] for row in rows if row["column"] == "cola"}["by size"] == "25.0"


@pytest.mark.parametrize("metrics", ["", "metrics = 'evaluation'", "metrics = 'none'", "metrics = 'training'"])
def test_only_a_kind_that_says_that_it_trains_is_averaged_with_the_fine_tuning(
    folder: Path, capsys: pytest.CaptureFixture[str], metrics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    call(capsys, "sweep", "made_up.yaml")
    alone = call(capsys, "report", "--format", "csv")
    (folder / "probes").mkdir()
    (folder / "probes/probe.py").write_text(PROBE.replace("METRICS", metrics))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(folder / "probes"))
    call(capsys, "sweep", "made_up.yaml")
    monkeypatch.delenv("HASHBENCH_PLUGINS")  # results are read where the plug-in is absent
    found = call(capsys, "report", "--format", "csv")
    role = metrics.partition("'")[2].rstrip("'") or "evaluation"
    store = open_store(folder / "results.db")
    said = store.query("SELECT key, value FROM setting WHERE key LIKE 'metrics%'")
    stored = {row["key"]: row["value"] for row in said}
    assert stored == ({} if role == "training" else {"metrics of probe": role})
    rows = store.query("SELECT model, value FROM paper_averages WHERE paper = 'own' AND checkpoint = 'best'")
    averages = {row["model"]: row["value"] for row in rows}
    cells = [[(row["column"], row["value"], row["n"]) for row in csv.DictReader(io.StringIO(text))
              if row["column"] in ("cola", "average")] for text in (alone, found)]  # fmt: skip
    own = hashbench.results(folder / "results.db")
    if role == "training":
        assert cells[0] != cells[1] and set(own["kind"]) == {"finetune", "probe"}
        return
    assert cells[0] == cells[1] and set(own["kind"]) == {"finetune"}
    assert averages["raw"] == pytest.approx(float(own["value"].mean()))
    everything = hashbench.results(folder / "results.db", everything=True)
    assert set(everything["kind"]) == {"finetune", "probe"}
    words = " ".join(call(capsys, "report").split())
    noted = "In no cell: 1 run of kind 'probe', evaluations on a task that the model is trained on" in words
    assert noted == (role == "evaluation")


def test_every_kind_of_the_suite_says_what_readers_know_of_it() -> None:
    assert {name: kind.metrics for name, kind in kinds().items()} == {name: metrics_of(name, {}) for name in kinds()}


def test_a_kind_whose_metrics_are_none_of_the_three_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "kinds/size.py").write_text(KIND.replace('name = "size"', 'name = "size"; metrics = "score"'))
    with pytest.raises(SystemExit) as left:
        main(["sweep", "made_up.yaml", "--dry-run"])
    assert left.value.code == 2
    assert (
        "kind of run 'size': metrics is 'score'; write 'training' or 'evaluation' or 'none'" in capsys.readouterr().err
    )
