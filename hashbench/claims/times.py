"""Times of efficiency runs, one value a run. Model and baseline are measured in turn within a run: that is what counts.

A time is the model's over the baseline's of the same run, times the baseline's mean over all runs: the machine's mood
during a run cancels, and comparing a model with the baseline compares what was interleaved.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.claims.columns import Timed
from hashbench.results import queries
from hashbench.results.measured import Measured

BASELINE = "baseline_"
Run = dict[tuple[str, str], float]  # by (name, task)


class Times:
    """All timed runs of an experiment."""

    def __init__(self, measured: Measured) -> None:
        rows: Sequence[Mapping[str, Any]] = measured.query(queries.TIMES, experiment=measured.experiment.id)
        self._baseline = measured.experiment.baseline
        self._runs: dict[str, dict[str, Run]] = {}
        for row in rows:
            runs = self._runs.setdefault(row["model"], {})
            runs.setdefault(row["run_id"], {})[row["name"], row["task"]] = row["value"]

    def of(self, model: str, asked: Timed) -> list[float]:
        """The time in ms of every run that has it (of a speed-up, the baseline's over it): low or high over tasks."""
        runs = [run for run in self._runs.get(model, {}).values() if any(name == asked.name for name, _ in run)]
        return [self._end(self._by_task(run, asked, model), asked) for run in runs]

    def _end(self, values: Sequence[float], asked: Timed) -> float:
        return max(values) if asked.end == "high" else min(values)

    def _by_task(self, run: Run, asked: Timed, model: str) -> list[float]:
        found = []
        for (name, task), value in run.items():
            if name != asked.name:
                continue
            beside = run.get((f"{BASELINE}{name}", task))
            if beside is None:
                found.append(float("nan") if asked.speedup else value)
            elif model == self._baseline:
                found.append(1.0 if asked.speedup else self._typical(name, task))
            else:
                found.append(beside / value if asked.speedup else value / beside * self._typical(name, task))
        return found

    def _typical(self, name: str, task: str) -> float:
        """The baseline's mean time over all runs of all models."""
        key = (f"{BASELINE}{name}", task)
        return statistics.fmean(run[key] for runs in self._runs.values() for run in runs.values() if key in run)
