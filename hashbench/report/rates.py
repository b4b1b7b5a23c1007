"""Scores of the reported models under perturbed texts, by task, kind of perturbation and rate."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hashbench.report.measured import Measured

PERTURBED = """
SELECT model, task, metric, perturbation, value FROM perturbed_scores
WHERE experiment_id = :experiment AND kind <> 'floor' AND value IS NOT NULL ORDER BY position, seed
"""
RATE = re.compile(r"(?P<kind>[a-z][a-z ]*)=(?P<rate>0|1|0?\.\d+)")
OTHER = ("beam", "tenth", "map")  # conditions of a page-link set, which are no rates

Lines = dict[str, dict[float, list[float]]]  # model -> rate -> scores of the seeds, natural range


def robustness(measured: Measured) -> dict[tuple[str, str, str], Lines]:
    """The lines of each (task, metric, kind of perturbation) that was evaluated at some rates; {} where none was."""
    rows = measured.query(PERTURBED, experiment=measured.experiment.id)
    return lines_of([dict(row) for row in rows])


def lines_of(rows: Sequence[dict[str, object]]) -> dict[tuple[str, str, str], Lines]:
    """Rows (model, task, metric, perturbation, value) as lines, seeds laid together.

    >>> row = {"model": "m", "task": "sst2", "metric": "accuracy"}
    >>> lines_of([{**row, "perturbation": "swap=0.05", "value": 0.8}, {**row, "perturbation": "beam=1", "value": 0.1}])
    {('sst2', 'accuracy', 'swap'): {'m': {0.05: [0.8]}}}
    """
    found: dict[tuple[str, str, str], Lines] = {}
    for row in rows:
        match = RATE.fullmatch(str(row["perturbation"]))
        if match is None or match["kind"] in OTHER:
            continue
        lines = found.setdefault((str(row["task"]), str(row["metric"]), match["kind"]), {})
        rates = lines.setdefault(str(row["model"]), {})
        rates.setdefault(float(match["rate"]), []).append(float(str(row["value"])))
    return found
