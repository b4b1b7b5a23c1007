"""The scores of a database as a pandas table: `hashbench.results`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hashbench.results.read.queries import SCORE_COLUMNS, SCORES_OF_ALL, SCORES_OF_EXPERIMENT
from hashbench.results.read.runs import IMPORTED, IMPORTED_MARK
from hashbench.store.engine import Store, open_results
from hashbench.store.status import find_experiment


def results(db: str | Path | Store, experiment: str | None = None, *, everything: bool = False) -> pd.DataFrame:
    """The scores that `hashbench report` shows: one row per model, task and seed, in their natural range.

    A score has the metric and the split that the experiment reads for the task, at the best evaluation. `everything`:
    every stored metric and split, at the best and at the last evaluation (columns `metric`, `split`, `checkpoint`); a
    mean over these rows mixes them. Without a name: all experiments. A missing score is NaN with its reason beside it.
    Predictions of other programs are rows of a model "NAME (imported)".

    Raises InputError where there is no such database or experiment.
    """
    store = db if isinstance(db, Store) else open_results(db)
    try:
        own = 0 if everything else 1
        if experiment is None:
            rows = store.query(SCORES_OF_ALL, own=own)
        else:
            rows = store.query(SCORES_OF_EXPERIMENT, own=own, experiment=find_experiment(store, experiment).id)
    finally:
        if store is not db:
            store.close()
    table = pd.DataFrame([tuple(row.values()) for row in rows], columns=list(SCORE_COLUMNS))
    table["model"] = table["model"].mask(table["kind"] == IMPORTED, table["model"].astype(str) + IMPORTED_MARK)
    return table.astype({"value": "float64", "own": "bool"})
