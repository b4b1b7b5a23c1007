"""A sweep from published weights, as a user calls it: its result, its table, and what stops it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.store.engine import open_store
from hashbench.store.status import counts, experiments, run_spec, runs
from tests.commands import Outcome, finish
from tests.published_bert import SMALL_HERE, saved_bert
from tests.published_canine import TINY, saved

FILE = """\
name: published
data: builtin
encoder: tiny
models: [{name: canine-c, weights: mine}, canine-c-scratch]
baseline: canine-c
tasks: [cola]
floors: [majority]
seeds: [0]
finetune: {steps: 4, batch_size: 16, evaluations_per_epoch: 1, max_length: 64}
threads: 1
"""


BERT = f"{{name: own-bert, like: bert-base-uncased, weights: bert, encoder: {SMALL_HERE}}}"


def sweep(folder: Path) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        return finish("sweep", "published.yaml", "--db", "r.db", cwd=folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    saved(folder / "mine", **TINY)
    saved_bert(folder / "bert")
    (folder / "published.yaml").write_text(FILE.replace("canine-c-scratch]", f"canine-c-scratch, {BERT}]"))
    done = sweep(folder)
    assert done.code == 0, done.err
    return folder


def test_a_bert_is_read_with_the_vocabulary_beside_it(finished: Path) -> None:
    """To its end on the command line, with no corpus prepared."""
    store = open_store(finished / "r.db")
    specs = {run.model: run_spec(store, run.run_id) for run in runs(store, experiments(store)[0].id)}
    assert specs["own-bert"]["settings"] == {"weights": "bert"}
    assert len(specs["own-bert"]["model"]["weights"]["sha256"]) == 64
    assert not (finished / "cache" / "corpora").exists()


def test_both_starts_are_run_and_told_apart(finished: Path) -> None:
    store = open_store(finished / "r.db")
    assert counts(store, experiments(store)[0].id)["done"] == 4
    text = " ".join(render(tables(store), width=200).split())
    assert "canine-c-scratch (from scratch)" in text and "FROM SCRATCH: canine-c-scratch: random weights" in text
    assert "published weights mine (sha256 " in text and "canine-c (from scratch)" not in text


def test_no_path_is_stored(finished: Path) -> None:
    store = open_store(finished / "r.db")
    specs = [run_spec(store, run.run_id) for run in runs(store, experiments(store)[0].id)]
    assert str(finished) not in json.dumps(specs)


def test_without_weights_and_network_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "published.yaml").write_text(FILE.replace("{name: canine-c, weights: mine}", "canine-c"))
    done = sweep(tmp_path)
    assert done.code == 2 and not (tmp_path / "r.db").exists()
    assert len(done.err.strip().splitlines()) == 1
    where = "published.yaml:4: model 'canine-c': weights google/canine-c:"
    assert f"{where} no folder of this name, and HF_HUB_OFFLINE is set, and it was not fetched" in done.err
    assert "(weights: FOLDER), or take a model that starts from random weights (canine-c-scratch)" in done.err
