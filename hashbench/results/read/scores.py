"""The scores of a database as a pandas table: `hashbench.results`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from hashbench.results.read.queries import BEST_KEPT, SCORE_COLUMNS, SCORES_OF_ALL, SCORES_OF_EXPERIMENT
from hashbench.store.engine import Store, open_results
from hashbench.store.status import find_experiment


def results(db: str | Path | Store, experiment: str | None = None, *, everything: bool = False) -> pd.DataFrame:
    """The scores that `hashbench report` shows: one row per model, task and seed, in their natural range.

    Each is of the metric and the split that the experiment reads for the task, at the best evaluation. `everything`:
    every stored metric and split, at the best and at the last evaluation (columns `metric`, `split`, `checkpoint`); a
    mean over these rows mixes them. Without a name: all experiments. A missing score is NaN with its reason beside it.

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
    return table.astype({"value": "float64", "own": "bool"})


@dataclass(frozen=True)
class KeptRun:
    """A finished training whose weights the database lists as kept."""

    task: str
    model: str
    run_id: str
    split: str  # on which it was chosen: validation or held-out rows where the task has them
    value: float  # of the score there, in its natural range


def best_kept(db: str | Path, experiment: str, tasks: Collection[str]) -> list[KeptRun]:
    """For each of `tasks` the training with the best score whose weights were kept, in the order of the plan."""
    store = open_results(db)
    try:
        rows = store.query(BEST_KEPT, experiment=find_experiment(store, experiment).id)
    finally:
        store.close()
    best: dict[str, KeptRun] = {}
    for row in rows:
        run = KeptRun(**row)
        if run.task in tasks and (run.task not in best or run.value > best[run.task].value):
            best[run.task] = run
    return list(best.values())
