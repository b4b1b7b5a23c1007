"""The best trained model of each task of which the weights were kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hashbench.results.read.queries import BEST_KEPT
from hashbench.store.engine import open_results
from hashbench.store.status import find_experiment


@dataclass(frozen=True)
class KeptRun:
    """A finished training whose weights the store names."""

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
