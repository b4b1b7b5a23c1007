"""Trivial baselines on a further labelled set: they learn from the train set of the task, as the models there did.

Sweeps plan none: `hashbench evaluate` adds them beside the models that it evaluates.
"""

from __future__ import annotations

from collections.abc import Iterable

from hashbench.data.tasks.base import LocatedTask
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import RunKind, Workplace
from hashbench.running.runs.baseline import TYPICAL_S, VERSION, predicted
from hashbench.running.runs.further import FurtherSet, behind_train
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result


class FurtherBaseline(RunKind):
    """Each trivial baseline of an experiment on a further set."""

    name = "evaluation-floor"
    order = 75
    in_sweeps = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return []

    def of(self, size: str, name: str, further: FurtherSet, trained: LocatedTask) -> Run:
        """One trivial baseline of a task on a further set of it."""
        learned = {"task": trained.task.name, "data": trained.fingerprint}
        return self.make(size, name, {"floor": name, "version": VERSION, "learned": learned}, task=further)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        rows, trained = (place.materials.task_data(task) for task in (str(run.task), run.spec["learned"]["task"]))
        return predicted(run.spec["floor"], behind_train(rows, trained))

    def seconds(self, run: Run, rows: int) -> float:
        return TYPICAL_S


KIND = FurtherBaseline()
