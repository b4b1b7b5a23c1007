"""models/objectives/base.py: found by listing, and one of the user's own, a single file, trained by a sweep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.base import objective_of, objectives, reads_items
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.runner import sweep
from hashbench.store.engine import open_store

pytestmark = pytest.mark.usefixtures("warm_workers")

EVEN = """
import numpy as np
from torch import nn

from hashbench.models.embeddings.base import NO_LABEL
from hashbench.models.objectives.base import Head, Objective


def corrupt(ids, row_ids, *, seed, epoch, n_types, share=1.0):
    return ids, np.where(ids >= 0, ids % 2, NO_LABEL).astype(np.int32)


class EvenHead(Head):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, 2)

    def batch_loss(self, model, batch, logits):
        return nn.functional.cross_entropy(self.out(model(batch)).flatten(0, 1), batch.labels.flatten())


def make_head(embedding, config):
    return EvenHead(config.dim)


OBJECTIVE = Objective("even", corrupt, "corpus (even types)", make_head, learning_rates={"tiny": 1e-3})
"""
MINE = """
name: mine
data: builtin
encoder: tiny
models: [{name: even-proj, like: hashformer-md-proj, objective: {kind: even, share: 0.5}}]
tasks: [cola]
seeds: [0]
pretrain: {corpora: [builtin], steps: 2, batch_size: 2, sequence_length: 16, max_documents: 20}
finetune: {steps: 1}
device: cpu
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own = tmp_path / "own"
    own.mkdir()
    (own / "even.py").write_text(EVEN)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(own))
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def test_the_objectives_of_the_suite_those_of_texts_first() -> None:
    assert list(objectives()) == ["mlm", "mlm_signatures", "shuffle_random", "entities"]


def test_a_model_names_its_objective() -> None:
    assert objective_of(find_model("proformer")) is None
    assert reads_items(find_model("superbloom-baseline")) and not reads_items(find_model("bert-mlm"))


@pytest.mark.e2e
def test_an_objective_of_ones_own_is_one_file(folder: Path) -> None:
    store = folder / "r.db"
    assert sweep(load_experiment(folder / "mine.yaml"), db=str(store), workers=1) == 0
    rows = open_store(str(store)).query("SELECT spec FROM run WHERE kind = 'pretrain' AND model = 'even-proj'")
    assert json.loads(rows[0]["spec"])["model"]["objective"] == {"kind": "even", "share": 0.5}


@pytest.mark.parametrize(
    ("argument", "message"),
    [("shre", "unknown argument 'shre' of even; did you mean 'share'"), ("share", "from 0 to 1")],
)
def test_its_arguments_are_checked(folder: Path, argument: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        objectives()["even"].check_arguments({argument: 2})


def test_two_of_one_name_are_refused(folder: Path) -> None:
    (folder / "own" / "again.py").write_text(EVEN)
    with pytest.raises(InputError, match=r"even.py: objective 'even' is already in .*again.py; rename one"):
        objectives()
