"""The unit of each run of an experiment, drawn independently of others: its pre-training, or itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.results.read import queries
from hashbench.results.read.runs import PRETRAINING
from hashbench.scores.quantity import Unit


@dataclass(frozen=True)
class Units:
    """The unit of each run by model label and run id, and how many pre-trainings each label has.

    A run's unit is the pre-training that it needs, itself or through others, where its model has two or more in the
    experiment: fine-tunings of one pre-training are no new sample. Else it is the seed of the run.
    """

    by_run: Mapping[tuple[str, str], Unit]
    pretrainings: Mapping[str, int]

    def of(self, label: str, run_id: str) -> Unit:
        """The unit of a run under a label."""
        return self.by_run[label, run_id]


def read_units(query: Callable[..., Sequence[Any]], experiment_id: int) -> Units:
    """The units of an experiment's runs."""
    rows = query(queries.LABELLED_RUNS, experiment=experiment_id)
    needs: dict[str, list[str]] = {}
    for row in query(queries.NEEDS, experiment=experiment_id):
        needs.setdefault(row["run_id"], []).append(row["needs_run_id"])
    seeds = {row["id"]: row["seed"] for row in rows if row["kind"] == PRETRAINING}
    needed = {row["id"]: _needed(row["id"], needs, seeds) for row in rows}
    by_label: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["kind"] != PRETRAINING:
            by_label.setdefault(row["model"], {}).update(dict.fromkeys(needed[row["id"]]))
    names = {label: _names(of_label, seeds) for label, of_label in by_label.items()}
    by_run: dict[tuple[str, str], Unit] = {}
    for row in rows:
        several = row["kind"] != PRETRAINING and len(by_label[row["model"]]) > 1
        of_run = [names[row["model"]][run_id] for run_id in needed[row["id"]]] if several else []
        by_run[row["model"], row["id"]] = of_run[0] if of_run else row["seed"]
    return Units(by_run, {label: len(of_label) for label, of_label in by_label.items()})


def _needed(run_id: str, needs: Mapping[str, Sequence[str]], seeds: Mapping[str, Unit]) -> list[str]:
    """The nearest pre-trainings that a run needs, itself or through others."""
    nearest: dict[str, None] = {}
    waiting, seen = list(needs.get(run_id, ())), {run_id}
    while waiting:
        at = waiting.pop(0)
        if at in seeds:
            nearest[at] = None
        elif at not in seen:
            waiting += needs.get(at, ())
        seen.add(at)
    return list(nearest)


def _names(run_ids: Iterable[str], seeds: Mapping[str, Unit]) -> dict[str, Unit]:
    """The seeds of pre-trainings, or their run ids where two have one seed."""
    ids = list(run_ids)
    is_shared = len({seeds[run_id] for run_id in ids}) < len(ids)
    return {run_id: run_id[:12] if is_shared else seeds[run_id] for run_id in ids}
