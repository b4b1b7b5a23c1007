"""Trivial baselines of a task: what needs no representation, and what a model must beat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import LocatedTask
from hashbench.data.tasks.text_data import reports_elsewhere
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import RunKind, Workplace, notes_on, scored_metrics, stored_predictions
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Checkpoint, Result

VERSION = 1  # raised when the meaning of a trivial baseline changes
TYPICAL_S = 2.0  # of a run of the example database
CHECKPOINTS: tuple[Checkpoint, ...] = ("best", "last")  # both are what was predicted once


class TrivialBaseline(RunKind):
    """Each trivial baseline of an experiment on each task whose kind has it."""

    name = "floor"
    order = 20

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return [
            self.of(resolved, name, task)
            for task in resolved.tasks
            for name in resolved.experiment.floors
            if name in task.task.kind.baselines
        ]

    def of(self, resolved: ResolvedExperiment, name: str, task: LocatedTask) -> Run:
        """One trivial baseline on one task."""
        learned = {"learned": "train and holdout"} if reports_elsewhere(task.task) else {}
        spec = {"floor": name, "version": VERSION, **task.task.kind.protocol_spec(task.task), **learned}
        return self.make(resolved.experiment.encoder, name, spec, task=task)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        return predicted(run.model, place.materials.data(str(run.task)))

    def seconds(self, run: Run, rows: int) -> float:
        return TYPICAL_S


def predicted(name: str, data: Any) -> Result:
    """Scores and predictions of a trivial baseline on the sets of a task that are evaluated."""
    metrics, predictions = [MetricRow("best_step", 0), MetricRow("last_step", 0)], []
    for split, result in data.task.kind.predictions(name, data).items():
        metrics += scored_metrics(data.task, result, split)
        predictions += [stored_predictions(split, checkpoint, *result) for checkpoint in CHECKPOINTS]
    return Result(metrics=metrics, predictions=predictions, notes=notes_on(data))


KIND = TrivialBaseline()
