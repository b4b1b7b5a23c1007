"""The experiments of a database at a glance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hashbench.results.read.queries import MEMBERS_OF_ALL
from hashbench.results.read.runs import BASELINE, FURTHER_BASELINE
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
        # Trivial baselines have no encoder: an experiment of another size may have planned theirs
        of_models = [row for row in rows if row["kind"] not in (BASELINE, FURTHER_BASELINE)]
        found.append(
            ListedExperiment(
                experiment.name, sum(states.values()), states["done"], states["failed"],
                _each_once(row["encoder"] for row in of_models), _each_once(row["model"] for row in of_models),
                _each_once(row["task"] for row in rows if row["task"] is not None), experiment.called_at,
            )
        )  # fmt: skip
    return found


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
