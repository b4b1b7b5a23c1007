"""The pre-trained weights beside the code: each folder loads, and starts the model that its page names."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

import hashbench
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan
from tests.test_docs import block

ROOT = Path(__file__).resolve().parents[1]
PRETRAINED = ROOT / "pretrained"
RESULTS = ROOT / "analysis" / "embeddings_tiny_2.db"
NAMES = ("bpe", "lsh-proj", "blt", "k2-signs", "signatures", "multihash")

pytestmark = pytest.mark.skipif(not PRETRAINED.is_dir(), reason="no folder pretrained/ beside the tests")


@pytest.fixture(scope="module")
def page() -> str:
    """The experiment on the page of the folder."""
    return block(PRETRAINED / "README.md", "name: from_pretrained")


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_small_names_its_run_and_tells_texts_apart(name: str) -> None:
    folder = PRETRAINED / name
    config = json.loads((folder / "config.json").read_text())
    card = (folder / "README.md").read_text()
    assert config["name"] == name
    assert f"Run {config['run']}, experiment embeddings_tiny_2." in card
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 2_000_000
    weights = load_file(folder / "model.safetensors")
    assert sum(each.numel() for each in weights.values() if each.dtype == torch.float16) > 450_000
    vectors = hashbench.load(folder).embed(["a good film", "the price of oil fell"])
    assert torch.isfinite(torch.as_tensor(vectors)).all()
    assert not torch.allclose(torch.as_tensor(vectors[0]), torch.as_tensor(vectors[1]), atol=1e-2)


@pytest.mark.skipif(not RESULTS.is_file(), reason="no analysis/ beside the tests")
@pytest.mark.parametrize("name", NAMES)
def test_the_run_of_a_card_is_a_finished_pretraining_of_that_model(name: str) -> None:
    run = json.loads((PRETRAINED / name / "config.json").read_text())["run"]
    with closing(sqlite3.connect(f"{RESULTS.as_uri()}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT kind, model, seed, state FROM run WHERE id = ?", (run,)).fetchall()
    assert found == [("pretrain", name, 4, "done")]


def test_the_page_starts_each_model_of_the_experiment_at_its_rates(page: str) -> None:
    shown = {model["name"]: model for model in yaml.safe_load(page)["models"]}
    swept = yaml.safe_load((ROOT / "experiments" / "embeddings_tiny_2.yaml").read_text())
    assert set(shown) == set(NAMES) == {model["name"] for model in swept["models"]}
    for model in swept["models"]:
        own = shown[model["name"]]
        for key in ("like", "tokenizer", "coder"):
            assert own.get(key) == model.get(key), (model["name"], key)
        for key, default in (("learning_rate", None), ("embedding_rate", 1)):
            assert own["finetune"].get(key, default) == model["finetune"][key], (model["name"], key)


def test_the_experiment_of_the_page_is_planned_from_these_folders(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pretrained").symlink_to(PRETRAINED)
    (tmp_path / "mine.yaml").write_text(page.replace("data: hub ", "data: builtin "))
    planned = plan(load_experiment(tmp_path / "mine.yaml"))
    trained = [run for run in planned.runs if run.kind == "finetune"]
    assert len(trained) == 2 * len(NAMES)
    assert {run.spec["settings"]["weights"] for run in trained} == set(NAMES)
    assert not [run for run in planned.runs if run.kind == "pretrain"]
    assert len({run.spec["model"]["weights"]["sha256"] for run in trained}) == len(NAMES)
