"""Earlier steps of a pre-training are runs of their own, with the weights that the training had there."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hashbench.results.read.doubts import separations
from hashbench.running.experiment.load import load_experiment
from hashbench.running.runs.pretraining import CHECKPOINT, KIND, OBJECTIVE_HEAD, steps_on_the_way
from hashbench.running.sweep.plan import plan
from hashbench.store.engine import open_store
from hashbench.store.planning import Run
from hashbench.store.status import experiments
from tests.commands import call, finish

FILE = """
name: steps
data: builtin
encoder: tiny
models:
  - {name: hashformer-md-proj, pretrain: {checkpoints: [4, 8]}}
baseline: hashformer-md-proj
tasks: [rte]
seeds: [0]
pretrain: {corpora: [builtin], steps: 12, batch_size: 4, sequence_length: 32, max_documents: 60}
finetune: {steps: 2, batch_size: 8, max_length: 16, evaluations_per_epoch: 1}
threads: 1
floors: []
efficiency: false
"""


def runs(folder: Path) -> dict[str, tuple[str, dict]]:
    """Of the pre-trainings: label -> (run id, spec)."""
    with sqlite3.connect(folder / "r.db") as connection:
        rows = connection.execute("SELECT model, id, spec FROM run WHERE kind = 'pretrain'").fetchall()
    return {model: (run_id, json.loads(spec)) for model, run_id, spec in rows}


def files(folder: Path, kind: str = "weights") -> dict[str, Path]:
    """Of the pre-trainings: label -> the file of this kind that the store names."""
    joined = "run r JOIN artifact a ON a.attempt_id = r.finished_attempt"
    sql = f"SELECT r.model, a.url FROM {joined} WHERE r.kind = 'pretrain' AND a.kind = ?"
    with sqlite3.connect(folder / "r.db") as connection:
        rows = connection.execute(sql, (kind,)).fetchall()
    return {model: folder / "cache" / "artifacts" / url for model, url in rows}


def weights(folder: Path, kind: str = "weights") -> dict[str, dict[str, torch.Tensor]]:
    return {label: load_file(path) for label, path in files(folder, kind).items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "e.yaml").write_text(FILE)
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=folder).code == 0
    return folder


def test_each_step_is_a_model_with_weights_and_scores_of_its_own(swept):
    labels = ["hashformer-md-proj", "hashformer-md-proj@4", "hashformer-md-proj@8"]
    kept = weights(swept)
    assert sorted(kept) == labels
    assert not equal(kept[labels[0]], kept[labels[1]]) and not equal(kept[labels[1]], kept[labels[2]])
    table = call("report", "--db", "r.db", "--format", "csv", cwd=swept).out
    assert all(f"{label}," in table for label in labels)
    (folder,) = {path.parent for path in files(swept).values()}
    kept = [*files(swept).values(), *files(swept, OBJECTIVE_HEAD).values()]
    assert sorted(folder.glob("*.safetensors")) == sorted(kept) and len(kept) == 6


def test_the_head_of_the_objective_is_kept_with_its_size_and_the_models_read_without_it(swept):
    """Three classes over the states: 3 d weights and 3 biases, beside the weights, which are what they were."""
    heads = weights(swept, OBJECTIVE_HEAD)
    assert {name: tuple(tensor.shape) for name, tensor in heads["hashformer-md-proj"].items()} == {
        "out.weight": (3, 128),
        "out.bias": (3,),
    }
    assert not equal(heads["hashformer-md-proj"], heads["hashformer-md-proj@4"])
    assert {name.split(".")[0] for name in weights(swept)["hashformer-md-proj"]} == {"embedding", "encoder"}
    with sqlite3.connect(swept / "r.db") as connection:
        sizes = connection.execute("SELECT url, bytes FROM artifact WHERE kind = ?", (OBJECTIVE_HEAD,)).fetchall()
    assert len(sizes) == 3 and all((swept / "cache" / "artifacts" / url).stat().st_size == n for url, n in sizes)


def test_the_training_itself_is_the_same_run_with_or_without_them(swept, tmp_path):
    (tmp_path / "e.yaml").write_text(FILE.replace(", pretrain: {checkpoints: [4, 8]}", ""))
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path).code == 0
    label = "hashformer-md-proj"
    assert runs(tmp_path)[label] == runs(swept)[label]
    for kind in ("weights", OBJECTIVE_HEAD):
        assert equal(weights(tmp_path, kind)[label], weights(swept, kind)[label])


def test_steps_that_were_asked_for_later_are_made_again_bit_for_bit(swept, tmp_path):
    """The training is done and left no weights on its way: it is repeated, up to the last step that is missing."""
    folder = tmp_path / "later"
    shutil.copytree(swept, folder)
    before = runs(folder)
    kept = weights(folder)
    heads = weights(folder, OBJECTIVE_HEAD)
    for label in ("hashformer-md-proj@4", "hashformer-md-proj@8"):
        for kind in ("weights", OBJECTIVE_HEAD):
            files(folder, kind)[label].unlink()
    void = ("db", "void", before["hashformer-md-proj@8"][0], "--db", "r.db", "--reason", "again")
    assert call(*void, cwd=folder).code == 0
    done = finish("sweep", "e.yaml", "--db", "r.db", cwd=folder)
    assert done.code == 0 and "hashformer-md-proj pretrain" not in done.err
    assert all(equal(kept[label], weights(folder)[label]) for label in before)
    assert all(equal(heads[label], weights(folder, OBJECTIVE_HEAD)[label]) for label in before)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("[12]", "pretrain.checkpoints: 12 is not before the last of 12 steps"),
        ("[8, 4]", "checkpoints: give each step once, in ascending order"),
        ("[0]", "greater than 0"),
    ],
)
def test_steps_that_cannot_be(tmp_path, steps, message):
    (tmp_path / "e.yaml").write_text(FILE.replace("[4, 8]", steps))
    done = call("check", "e.yaml", cwd=tmp_path)
    assert done.code == 2 and message.split(": ")[-1] in done.err and "e.yaml:" in done.err


@pytest.mark.parametrize(
    ("batch_size", "rows", "long"),
    [
        (64, {"sequence_length": 512, "words_per_row": 128}, True),
        (32, {"sequence_length": 512, "words_per_row": 128}, False),
        (32, {"sequence_length": 512}, True),
        (512, {"sequence_length": 32}, True),
        (64, {"sequence_length": 255}, False),
    ],
)
def test_steps_of_many_tokens_are_long(batch_size, rows, long):
    run = Run("0", KIND.name, "raw", "tiny", {"pretrain": {"batch_size": batch_size, **rows}})
    assert KIND.has_long_steps(run) is long


def test_held_out_rows_are_read_at_each_step_and_reports_take_the_last(tmp_path):
    rows_of_words = "sequence_length: 64, words_per_row: 16, warmup_steps: 2"
    (tmp_path / "e.yaml").write_text(FILE.replace("sequence_length: 32", rows_of_words).replace("[rte]", "[]"))
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path).code == 0
    sql = """SELECT r.model, m.step, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt
             WHERE m.split = 'held-out rows' AND m.name = 'loss' ORDER BY r.model, m.step"""
    with sqlite3.connect(tmp_path / "r.db") as connection:
        rows = connection.execute(sql).fetchall()
    losses = {step: value for model, step, value in rows if model == "hashformer-md-proj"}
    assert list(losses) == [4, 8, 12] and len(set(losses.values())) == 3
    assert [row for row in rows if "@" in row[0]] == []  # of the whole training alone: their weights were there
    store = open_store(tmp_path / "r.db")
    (swept_once,) = experiments(store)
    assert len(separations(store.query, swept_once.id)["hashformer-md-proj"]) == 1
    store.close()
    printed = finish("report", "--db", "r.db", "--columns", "held_out_loss,held_out_separation", cwd=tmp_path)
    assert printed.code == 0, printed.err
    for name, step in {"hashformer-md-proj": 12, "hashformer-md-proj@4": 4, "hashformer-md-proj@8": 8}.items():
        (cells,) = [line.split()[1:] for line in printed.out.splitlines() if line.split()[:1] == [name]]
        assert cells[0] == f"{losses[step]:.3f}" and 0.0 < float(cells[1]) < 1.0
    assert "Held-out: rows of the corpus that no pre-training has read" in " ".join(printed.out.split())


def test_an_earlier_step_that_is_made_by_itself_has_its_held_out_rows_once(tmp_path):
    rows_of_words = "sequence_length: 64, words_per_row: 16, warmup_steps: 2"
    text = FILE.replace("sequence_length: 32", rows_of_words).replace("[rte]", "[]")
    (tmp_path / "e.yaml").write_text(text.replace(", pretrain: {checkpoints: [4, 8]}", ""))
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path).code == 0
    (tmp_path / "e.yaml").write_text(text)  # asked for when the training is done
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path).code == 0
    sql = """SELECT r.model, m.step FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt
             WHERE m.split = 'held-out rows' AND m.name = 'loss' ORDER BY r.model, m.step"""
    with sqlite3.connect(tmp_path / "r.db") as connection:
        rows = connection.execute(sql).fetchall()
        failed = connection.execute("SELECT COUNT(*) FROM attempt WHERE state = 'failed'").fetchone()
    assert failed == (0,)
    label = "hashformer-md-proj"
    assert rows == [(label, 12), (f"{label}@8", 4), (f"{label}@8", 8)]


def test_the_steps_of_a_shared_pre_training_are_those_that_any_of_its_models_wants(tmp_path: Path) -> None:
    first = "  - {name: hashformer-md-proj, pretrain: {checkpoints: [4, 8]}}\n"
    others = "".join(f"  - {{name: {name}, like: hashformer-md-proj, pooling: {name}}}\n" for name in ("max", "mean"))
    (tmp_path / "e.yaml").write_text(FILE.replace(first, others + first + others.replace("name: m", "name: n")))
    planned = [run for run in plan(load_experiment(tmp_path / "e.yaml")).runs if run.kind == KIND.name]
    wholes = [run for run in planned if CHECKPOINT not in run.spec]
    assert len({run.id for run in wholes}) == 1 and len({run.id for run in planned}) == 3
    assert all(steps_on_the_way(run, planned) == [4, 8] for run in wholes)
