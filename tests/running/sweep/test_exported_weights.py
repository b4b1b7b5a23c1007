"""`weights: FOLDER` of an exported model: the fine-tuning that starts there is that of the sweep that exported it."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import hashbench
from hashbench.common.errors import InputError
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan
from tests.commands import call

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """\
name: NAME
data: builtin
encoder: tiny
initial_spread: matched
models:
  - {name: pieces, like: bert-sr, tokenizer: {lowercase: true}, WEIGHTS:pieces}
  - {name: bits, like: hashformer-lsh-proj, WEIGHTS:bits}
  - {name: rows, like: hash-emb-k2-sum, coder: {signs: 64, num_buckets: 500}, WEIGHTS:rows}
  - {name: gated, like: multihashformer, WEIGHTS:gated}
baseline: rows
tasks: [sst2]
seeds: [1]
floors: [majority]
pretrain: {corpora: [builtin], steps: 8, batch_size: 8, sequence_length: 32, vocabulary_size: 400}
finetune: {epochs: 1, batch_size: 64, max_length: 24, evaluations_per_epoch: 1, learning_rate: 1.0e-3}
threads: 1
"""
MODELS = ("pieces", "bits", "rows", "gated")
SCORES = "SELECT m.name, m.split, m.value FROM metric m JOIN run r ON m.attempt_id = r.finished_attempt"


def experiment(name: str, folder: Path, weights: str = "") -> Path:
    """The file of an experiment whose models are pre-trained, or start from folders in `weights`."""
    text = EXPERIMENT.replace("NAME", name)
    for model in MODELS:
        started = f"objective: none, weights: {weights}/{model}" if weights else "pretrain: {seed: 0}"
        text = text.replace(f"WEIGHTS:{model}", started)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def scores(db: Path) -> dict[str, dict[str, float]]:
    """All scores of the fine-tunings of a database, by model."""
    query = f"{SCORES} WHERE r.kind = 'finetune' AND r.model = ? AND m.split = 'validation'"
    with sqlite3.connect(db) as store:
        return {model: {f"{name} {split}": value for name, split, value in store.execute(query, (model,))}
                for model in MODELS}  # fmt: skip


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep of pre-trainings and fine-tunings, and the pre-trainings exported to `out/MODEL`."""
    folder = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        experiment("first", folder)
        done = call("sweep", "first.yaml", "--db", "one.db", cwd=folder)
        assert done.code == 0, done.err
        with sqlite3.connect(folder / "one.db") as store:
            runs = store.execute("SELECT model, id FROM run WHERE kind = 'pretrain'").fetchall()
        for model, run in runs:
            done = call("export", f"out/{model}", "--run", run[:12], "--db", "one.db", cwd=folder)
            assert done.code == 0, done.err
        yield folder


def test_a_fine_tuning_from_a_folder_is_that_of_the_pre_training(swept: Path) -> None:
    experiment("second", swept, "out")
    done = call("sweep", "second.yaml", "--db", "two.db", cwd=swept)
    assert done.code == 0, done.err
    first, second = scores(swept / "one.db"), scores(swept / "two.db")
    assert first == second and all(first.values())


def test_weights_of_half_precision_start_a_training_and_are_other_weights(swept: Path, tmp_path: Path) -> None:
    with sqlite3.connect(swept / "one.db") as store:
        runs = store.execute("SELECT model, id FROM run WHERE kind = 'pretrain'").fetchall()
    for model, run in runs:
        written = ("export", str(tmp_path / "half" / model), "--run", run[:12], "--half", "--db", "one.db")
        assert call(*written, cwd=swept).code == 0
        whole, half = (load_file(place / model / "model.safetensors") for place in (swept / "out", tmp_path / "half"))
        trained = {f"model.{name}" for name, _ in hashbench.load(swept / "out" / model).model.named_parameters()}
        assert trained < set(whole) == set(half), "the fixed factors of the start are no parameters"
        for name, tensor in whole.items():
            assert torch.equal(half[name], tensor.half() if name in trained else tensor), name
    done = call("sweep", str(experiment("half", tmp_path, "half")), "--db", "half.db", cwd=tmp_path)
    assert done.code == 0, done.err
    halves = scores(tmp_path / "half.db")
    assert {model: sorted(of) for model, of in halves.items()} == {
        model: sorted(of) for model, of in scores(swept / "one.db").items()
    }
    module = hashbench.module(tmp_path / "half.yaml", model="rows", task="sst2")
    stored = load_file(tmp_path / "half" / "rows" / "model.safetensors")
    for name, tensor in module.model.encoder.state_dict().items():
        assert torch.equal(tensor, stored[f"model.encoder.{name}"].float()), name
    planned = [plan(load_experiment(file)) for file in (tmp_path / "half.yaml", experiment("again", swept, "out"))]
    first, second = ({run.id for run in of.runs if run.kind == "finetune"} for of in planned)
    assert not first & second


CHANGES = {
    "coder: {signs: 64, num_buckets: 500}|coder: {num_buckets: 500}": "coder_args.signs is 64 there, absent here",
    "coder: {signs: 64, num_buckets: 500}|coder: {signs: 64, num_buckets: 499}": "num_buckets is 500 there, 499 here",
    "like: hash-emb-k2-sum, |like: hash-emb-k2-sum, tokenizer: unicode, ": "tokenizer is 'words' there, 'unicode' here",
    "encoder: tiny|encoder: mini": "encoder_args.dim is 128 there, 256 here",
    "objective: none, weights: out/rows|weights: out/rows": "write objective: none for the weights",
    "objective: none, weights: out/rows|objective: none, weights: out/rows, initial_spread: 0.02": "keep their spread",
    "weights: out/bits|weights: out/rows": "weights PLACE/out/rows: coder is 'hash-rows' there, 'lsh-bits' here",
}


@pytest.mark.parametrize("change", CHANGES)
def test_weights_of_another_model_are_refused_with_what_differs(change: str, swept: Path) -> None:
    path = experiment("other", swept, "out")
    before, _, after = change.partition("|")
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(InputError) as refused:
        plan(load_experiment(path))
    assert CHANGES[change].replace("PLACE", str(swept)) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("damage", ["spec", "embedding_args", "state", "tensor"])
def test_a_damaged_folder_is_refused_in_one_line(damage: str, swept: Path, tmp_path: Path) -> None:
    shutil.copytree(swept / "out", tmp_path / "out")
    config = tmp_path / "out" / "bits" / "config.json"
    values = json.loads(config.read_text())
    if damage == "spec":
        values["spec"] = {"embedding": 5}
    elif damage == "embedding_args":
        values["spec"]["embedding_args"] = [1]
    elif damage == "state":
        (tmp_path / "out" / "bits" / "coder.npz").write_bytes(b"PK\x03\x04 no archive")
    else:
        (tmp_path / "out" / "bits" / "model.safetensors").write_bytes(b"\x08" * 64)
    config.write_text(json.dumps(values))
    path = experiment("damaged", tmp_path, "out")
    only = "models=[{name: bits, like: hashformer-lsh-proj, objective: none, weights: out/bits}]"
    done = call("sweep", str(path), only, "baseline=bits", "--db", "d.db", cwd=tmp_path)
    assert done.code != 0 and "Traceback" not in done.err and str(tmp_path / "out" / "bits") in done.err


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, as a user calls it."""
    return subprocess.run([sys.executable, "-m", "hashbench", *arguments], capture_output=True, text=True, check=False)


def test_a_user_defined_embedding_must_be_that_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    assert command("init", "own").returncode == 0
    models = "models=[{name: mine, use: 'own.py:NgramBuckets', tokenizer: words, coder: 'own.py:Ngrams', WEIGHTS}]"
    short = ["pretrain.steps=2", "pretrain.batch_size=4", "seeds=[0]", "floors=[majority]"]
    options = ["baseline=mine", "tasks=[sst2]", *short]
    pre_trained = models.replace("WEIGHTS", "objective: shuffle_random")
    done = command("sweep", "own.yaml", pre_trained, *options, "--db", "a.db")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect("a.db") as store:
        (run,) = store.execute("SELECT id FROM run WHERE kind = 'pretrain'").fetchone()
    assert command("export", "out", "--run", run[:12], "--db", "a.db").returncode == 0
    begun = models.replace("WEIGHTS", "objective: none, weights: out")
    assert command("sweep", "own.yaml", begun, *options, "--db", "b.db").returncode == 0
    with (tmp_path / "out" / "embedding.py").open("a") as file:
        file.write("# another\n")
    refused = command("sweep", "own.yaml", begun, *options, "--db", "c.db")
    assert refused.returncode == 2 and "embedding.py is not" in refused.stderr and "Traceback" not in refused.stderr
