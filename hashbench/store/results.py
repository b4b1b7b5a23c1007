"""The scores of a database as a pandas table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hashbench.store.engine import Store, open_results
from hashbench.store.status import find_experiment

COLUMNS = (
    "experiment", "encoder", "model", "kind", "task", "seed", "metric", "split", "checkpoint", "step", "value",
    "reason", "own", "data_fingerprint", "run_id", "experiment_id",
)  # fmt: skip


def results(db: str | Path | Store, experiment: str | None = None) -> pd.DataFrame:
    """One row per model, task, seed, metric, split and checkpoint ("best", "last"), as in view scores.

    Scores are in their natural range; a missing one is NaN with its reason beside it. Without a name: all experiments.
    """
    store = db if isinstance(db, Store) else open_results(db)
    try:
        only, parameters = "", {}
        if experiment is not None:
            only, parameters = "WHERE experiment_id = :id", {"id": find_experiment(store, experiment).id}
        order = "ORDER BY experiment_id, position, model, metric, split, checkpoint"
        rows = store.query(f"SELECT {', '.join(COLUMNS)} FROM scores {only} {order}", **parameters)
    finally:
        if store is not db:
            store.close()
    table = pd.DataFrame([tuple(row.values()) for row in rows], columns=list(COLUMNS))
    return table.astype({"value": "float64", "own": "bool"})
