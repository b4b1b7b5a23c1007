"""A made-up experiment at two budgets: a family of two sizes, and models of one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hashbench.store.engine import Store
from hashbench.store.schema import experiment_run
from tests.databases.made_up import World, build

LABELS = {"hashformer-md-emb-50k": "rows-38.6M", "hashformer-md-emb-1k": "rows-0.8M"}
BUDGET = {"embedding_parameters": [800_000, 38_600_000]}


def two_budgets(path: Path, lsh: str = "hashformer-lsh-proj", **config: Any) -> Store:
    """`rows` at 38.6 M and 0.8 M embedding parameters, bert-mlm and `lsh` without a budget of their own."""
    models = ("bert-mlm", *LABELS, "hashformer-lsh-proj")
    config = {"models": ["bert-mlm", {"name": "rows", "budget": BUDGET}, lsh], **config}
    world = World(models=models, tasks=("cola", "rte"), examples={"cola": 200, "rte": 100}, config=config)
    store = build(path, world)
    with store.write() as connection:
        for label, new in {**LABELS, "hashformer-lsh-proj": lsh}.items():
            connection.execute(sa.update(experiment_run).where(experiment_run.c.model == label).values(model=new))
    return store
