"""Scores of the reported models on perturbed texts: a line a model for each task and kind of perturbation."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.store.engine import Store
from hashbench.store.status import find_experiment

PERTURBED = """
SELECT model, task, metric, perturbation, value FROM perturbed_scores
WHERE experiment_id = :experiment AND kind <> 'floor' AND value IS NOT NULL ORDER BY position, seed
"""
RATE = re.compile(r"(?P<kind>[a-z][a-z ]*)=(?P<rate>0|1|[01]?\.\d+)")
OTHER = ("beam", "tenth", "map")  # conditions of a page-link set, which are no rates
SPREAD = "bars: one sd over seeds"
PERCENT = 100.0


@dataclass(frozen=True)
class RateLine:
    """A model's score in percent at each rate, with the ends of an interval (empty where there is none)."""

    task: str
    metric: str
    kind: str
    model: str
    rates: tuple[float, ...]
    values: tuple[float, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


def rate_lines(store: Store, experiment: str | None) -> list[RateLine]:
    """The lines of an experiment (None: the one swept last), in its order; [] where no text was perturbed."""
    found = find_experiment(store, experiment)
    return lines_of([dict(row) for row in store.query(PERTURBED, experiment=found.id)])


def lines_of(rows: Sequence[dict[str, object]]) -> list[RateLine]:
    """Rows (model, task, metric, perturbation, value in its natural range) as lines: means over seeds.

    >>> row = {"model": "m", "task": "sst2", "metric": "accuracy"}
    >>> lines_of([{**row, "perturbation": "swap=0.05", "value": 0.8}, {**row, "perturbation": "beam=1", "value": 0.1}])
    [RateLine(task='sst2', metric='accuracy', kind='swap', model='m', rates=(0.05,), values=(80.0,), lows=(), highs=())]
    """
    found: dict[tuple[str, str, str, str], dict[float, list[float]]] = {}
    for row in rows:
        match = RATE.fullmatch(str(row["perturbation"]))
        if match is None or match["kind"] in OTHER:
            continue
        key = (str(row["task"]), str(row["metric"]), match["kind"], str(row["model"]))
        found.setdefault(key, {}).setdefault(float(match["rate"]), []).append(PERCENT * float(str(row["value"])))
    return [_line(key, {rate: rates[rate] for rate in sorted(rates)}) for key, rates in found.items()]


def _line(key: tuple[str, str, str, str], rates: dict[float, list[float]]) -> RateLine:
    means = [statistics.fmean(values) for values in rates.values()]
    line = RateLine(*key, tuple(rates), tuple(means))
    if any(len(values) < 2 for values in rates.values()):
        return line
    spread = [statistics.stdev(values) for values in rates.values()]
    lows = tuple(mean - one for mean, one in zip(means, spread, strict=True))
    highs = tuple(mean + one for mean, one in zip(means, spread, strict=True))
    return RateLine(*key, line.rates, line.values, lows, highs)


def by_panel(lines: Sequence[RateLine]) -> dict[tuple[str, str, str], list[RateLine]]:
    """The lines of each (task, metric, kind of perturbation)."""
    found: dict[tuple[str, str, str], list[RateLine]] = {}
    for line in lines:
        found.setdefault((line.task, line.metric, line.kind), []).append(line)
    return found
