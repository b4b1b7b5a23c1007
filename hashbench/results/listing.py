"""The experiments of a database at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from hashbench.results.queries import MEMBERS_OF_ALL
from hashbench.results.runs import BASELINE, FURTHER_BASELINE
from hashbench.store.engine import Store
from hashbench.store.status import counts, experiments


@dataclass(frozen=True)
class ListedExperiment:
    """An experiment with what it has runs of."""

    name: str
    runs: int
    done: int
    failed: int
    encoders: tuple[str, ...]
    models: tuple[str, ...]  # without trivial baselines
    tasks: tuple[str, ...]
    called_at: float  # seconds since 1970


def listed_experiments(store: Store) -> list[ListedExperiment]:
    """All experiments, the one that was swept last first. One whose plan changed stands there for each plan."""
    members = store.query(MEMBERS_OF_ALL)
    found = []
    for experiment in experiments(store):
        rows = [row for row in members if row["experiment_id"] == experiment.id]
        states = counts(store, experiment.id)
        models = (row["model"] for row in rows if row["kind"] not in (BASELINE, FURTHER_BASELINE))
        tasks = (row["task"] for row in rows if row["task"] is not None)
        found.append(
            ListedExperiment(
                experiment.name, sum(states.values()), states["done"], states["failed"],
                tuple(dict.fromkeys(row["encoder"] for row in rows)), tuple(dict.fromkeys(models)),
                tuple(dict.fromkeys(tasks)), experiment.called_at,
            )
        )  # fmt: skip
    return found
