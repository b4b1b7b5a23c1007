"""Databases that several tests read; none writes to them."""

from __future__ import annotations

import pytest

from hashbench.results.papers.paper import load_paper
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

TABLE_1 = tuple(
    model
    for section in load_paper("hashformers").tables["1"].sections
    for model in section.models
    if model not in ("canine-c", "proformer-glue")
)


@pytest.fixture(scope="session")
def paper_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Every model of Table 1 with the published scores, at the paper's recipe."""
    return build(tmp_path_factory.mktemp("paper") / "results.db", World(models=TABLE_1, seeds=(1,)))


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three models, three tasks of which one is the user's own, three seeds, predictions of two tasks, tiny."""
    world = World(
        tasks=("cola", "sst2", "subj"),
        encoder="tiny",
        steps=1_000,
        learning_rate=[1e-4, 5e-4],
        examples={"sst2": 872, "subj": 500},
        notes={"sst2": {"sample": "train 1,000 of 67,349 rows"}},
        failed={("hashformer-lsh-proj", "cola", 2)},
        undefined={("hashformer-md-emb-50k", "subj")},
    )
    store = build(tmp_path_factory.mktemp("small") / "results.db", world)
    store.settle()  # several tests copy the file
    return store
