"""Runs of trivial baselines, such as the majority class, which models must beat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hashbench.common.measured import LEARNED, LEARNED_MORE, TRAIN_ROWS, MetricRow
from hashbench.data.tasks.base import LocatedTask
from hashbench.data.tasks.text_data import reports_elsewhere
from hashbench.running.experiment.file_blocks import FloorChoice
from hashbench.running.experiment.recipes import at_rows
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import (
    RunKind,
    Workplace,
    notes_on,
    scored_metrics,
    stored_predictions,
    with_rows_of,
)
from hashbench.running.runs.further_sets import FurtherSet, behind_train
from hashbench.running.training.machine import Interrupted, Machine, Stop, in_thread
from hashbench.store.planning import Run
from hashbench.store.result import Checkpoint, Result

VERSION = 1  # raised when the meaning of a trivial baseline changes
SIZE = "bytes"  # the option of baselines that have a size
LOOK_EVERY_S = 0.2  # for a request to stop
CHECKPOINTS: tuple[Checkpoint, ...] = ("best", "last")  # both are what was predicted once


class TrivialBaseline(RunKind):
    """Kind of run: a trivial baseline of the experiment on a task whose kind has it."""

    name = "floor"
    metrics = "training"
    order = 20
    gives_signs = True
    announced = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return [
            run
            for task in resolved.tasks
            for floor in resolved.experiment.all_floors
            if floor.name in task.task.kind.baselines_of(task.task)
            and (floor.name not in task.task.kind.reads_words or counts_words(resolved))
            for run in self.of(resolved, floor, task)
        ]

    def of(self, resolved: ResolvedExperiment, floor: FloorChoice, task: LocatedTask) -> list[Run]:
        """The runs of one trivial baseline on one task: on all rows of train, then a run a number of rows and seed."""
        learned = {LEARNED: LEARNED_MORE} if reports_elsewhere(task.task) else {}
        words = {"corpus_words": resolved.seen_words()} if floor.name in task.task.kind.reads_words else {}
        spec = {**floor_spec(floor), **task.task.kind.protocol_spec(task.task), **learned, **words}
        size, recipe = resolved.experiment.encoder, resolved.experiment.finetune
        of_texts = task.task.kind.learned and not task.task.kind.reads_items
        numbers = recipe.rows_on(task.task.name) if of_texts else ()
        return [self.make(size, floor.label, spec, task=task)] + [
            self.make(size, at_rows(floor.label, rows), {**spec, TRAIN_ROWS: rows, "seed": seed}, task=task, seed=seed)
            for rows in numbers
            for seed in resolved.experiment.seeds
        ]

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        counted = "corpus_words" in run.spec
        words = {"words": place.materials.seen_types(run.spec["corpus_words"])} if counted else {}
        data = with_rows_of(run.spec, place.materials.data(str(run.task)))
        return until_stopped(
            lambda: predicted(run.spec["floor"], data, **words, **floor_options(run.spec)), machine.should_stop
        )


def floor_spec(floor: FloorChoice) -> dict[str, Any]:
    """The part of a run's spec that says which trivial baseline it is."""
    return {"floor": floor.name, "version": VERSION, **floor.options}


def floor_options(spec: Mapping[str, Any]) -> dict[str, int]:
    """The options of a trivial baseline's predictions, from the spec of its run."""
    return {SIZE: spec[SIZE]} if SIZE in spec else {}


def predicted(name: str, data: Any, **options: Any) -> Result:
    """Scores and predictions of a trivial baseline on the evaluated splits of a task; `options`: of `predictions`.

    What it notes about itself, as its bytes, is a metric of no split.
    """
    facts: dict[str, float] = {}
    noted = {"facts": facts} if name in data.task.kind.sized_baselines else {}
    metrics, predictions = [MetricRow("best_step", 0), MetricRow("last_step", 0)], []
    for split, result in data.task.kind.predictions(name, data, **options, **noted).items():
        metrics += scored_metrics(data.task, result, split)
        predictions += [stored_predictions(split, checkpoint, *result) for checkpoint in CHECKPOINTS]
    metrics += [MetricRow(fact, value) for fact, value in facts.items()]
    return Result(metrics=metrics, predictions=predictions, notes=notes_on(data))


def until_stopped(work: Callable[[], Result], stop: Stop | None) -> Result:
    """The result of work that may be one long call: it is done in a thread, so that a request to stop is heard.

    Raises Interrupted on request, and whatever the work raises. What is left of the work ends with the process.
    """
    if stop is None:
        return work()
    done = in_thread(work)
    while True:
        try:
            return done.result(LOOK_EVERY_S)
        except TimeoutError:
            if done.done():  # it is the work's own
                raise
            if stop.is_set():
                raise Interrupted from None


def counts_words(resolved: ResolvedExperiment) -> bool:
    """True where the words of the corpora can be counted: there are some, and they are not read as streams."""
    return resolved.seen_words() is not None and not resolved.experiment.pretrain.streaming


class FurtherBaseline(RunKind):
    """Kind of run: a trivial baseline that learns from a task's train set, on a further labelled set of the task.

    Sweeps plan none: `hashbench evaluate` adds them beside the models that it evaluates.
    """

    name = "evaluation-floor"
    metrics = "evaluation"
    order = 75
    gives_signs = True
    in_sweeps = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return []

    def of(self, size: str, floor: FloorChoice, further: FurtherSet, trained: LocatedTask) -> Run:
        """The run of one trivial baseline of a task on a further set of it."""
        learned = {"task": trained.task.name, "data": trained.fingerprint}
        return self.make(size, floor.label, {**floor_spec(floor), "learned": learned}, task=further)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        rows, trained = (place.materials.task_data(task) for task in (str(run.task), run.spec["learned"]["task"]))
        data = behind_train(rows, trained)
        options = floor_options(run.spec)
        return until_stopped(lambda: predicted(run.spec["floor"], data, **options), machine.should_stop)


BASELINES, FURTHER = TrivialBaseline(), FurtherBaseline()
KIND = [BASELINES, FURTHER]
