"""A small finished experiment that the tests of this folder read, and its W&B runs as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.dashboard.main import write_runs
from hashbench.results.dashboard.runs import shown
from hashbench.store.engine import Store
from tests.databases.made_up import World, build


def world(**changes) -> World:
    settings = {
        "models": ("bert-mlm", "hashformer-lsh-proj"), "tasks": ("cola", "sst2"), "seeds": (0, 1), "encoder": "tiny",
        "steps": 1_000, "failed": {("hashformer-lsh-proj", "cola", 1)}, "undefined": {("bert-mlm", "cola")},
    }  # fmt: skip
    return World(**(settings | changes))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two models, two tasks, two seeds, floors, sizes; one run failed, one score undefined."""
    return build(tmp_path_factory.mktemp("dashboard") / "results.db", world())


@pytest.fixture(scope="session")
def written(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of it as files. Tests read them and change nothing."""
    pytest.importorskip("wandb", reason="wandb is an extra")
    path = Path(tmp_path_factory.mktemp("runs"))
    write_runs(shown(store).runs, path, project="p", entity=None)
    return path
