"""A run, and the kinds of run: which runs an experiment has, how they are carried out, shown and stored.

A kind is a file of this folder that ends in `KIND`, an object of a class derived from `RunKind`. Nothing else in the
program knows the kinds by name. Plans list them without Lightning, which takes seconds to import: functions that carry
a run out import what trains themselves.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import COUNTED, TRAIN_ROWS, MetricRow, card_lines
from hashbench.common.registry import registered
from hashbench.common.showing import percent_text
from hashbench.data.tasks.base import LocatedTask, SplitOutputs, Task
from hashbench.data.tasks.items import LinkSet
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.efficiency.parameters import outline_of
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, plain, task_block
from hashbench.running.experiment.schema import LARGEST_KEPT, Experiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.materials import Materials
from hashbench.running.training.machine import Machine
from hashbench.scores.base import Metric, metric_of
from hashbench.store import packing
from hashbench.store.kinds import METRICS, Metrics
from hashbench.store.planning import Run
from hashbench.store.result import NOT_STORED, Checkpoint, Predictions, Result

if TYPE_CHECKING:
    from lightning.pytorch import LightningDataModule, LightningModule


BYTES = 4  # of a weight in float32


def model_of(run: Run, resolved: ResolvedExperiment) -> ResolvedModel:
    """The model of a run, under the recipes of its spec."""
    return resolved.model(run.model).of_run(run.spec)


@dataclass(frozen=True)
class Workplace:
    """The experiment, its runs, the prepared data and the files that the runs of one worker share."""

    resolved: ResolvedExperiment
    runs: Mapping[str, Run]  # of the experiment, by id
    materials: Materials
    artifacts: ArtifactFolder

    def model(self, run: Run) -> ResolvedModel:
        """The model of a run, under the recipes of its spec."""
        return model_of(run, self.resolved)

    def tuning(self, run: Run) -> dict[str, str]:
        """A note on how the values of a run's recipe were chosen, as far as the experiment's file declares it."""
        lines = card_lines(self.resolved.tuning_of(run.model), run.task)
        return {"tuned": "; ".join(lines)} if lines else {}

    def is_needed(self, run: Run) -> bool:
        """True when another run of the experiment waits for this one."""
        return any(run.id in other.needs for other in self.runs.values())


class RunKind(ABC):
    """One kind of run: which runs an experiment has of it, and how they are carried out and shown."""

    name: ClassVar[str]  # as it is stored
    # What its metrics are: "training", the scores of a model that it trains, which are averaged over seeds;
    # "evaluation", scores of a model that another run trained, in no average of trainings; "none", no scores.
    metrics: ClassVar[Metrics] = "evaluation"
    # Place in the plan; the kinds of the suite have 10, 20 ... 70.
    order: ClassVar[int]
    # Whether it measures time; then its runs come after all others, by one worker, on a quiet machine.
    measures_time: ClassVar[bool] = False
    # Whether a sweep carries its runs out; others have another command.
    in_sweeps: ClassVar[bool] = True
    # Whether a run may use as many devices as the experiment gives it.
    several_devices: ClassVar[bool] = False
    # True: loads files of the runs that it needs. False: only has to come after them.
    reads_needs: ClassVar[bool] = True
    is_tracked: ClassVar[bool] = False  # whether Weights & Biases shows it while it runs
    is_training: ClassVar[bool] = False  # whether it trains a model
    # Whether a line says that a run begins, since it shows no steps and may last.
    announced: ClassVar[bool] = False
    # Whether its runs call `progress` from their start on; runs of other kinds can hang only after a first call.
    gives_signs: ClassVar[bool] = False

    @abstractmethod
    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        """The runs of this kind that an experiment has, in order."""

    @abstractmethod
    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Carries out a run; returns its result, an empty one on all devices but the first.

        Raises `Interrupted` when the machine requests a stop; any other error is the run's failure.
        """

    def has_long_steps(self, run: Run) -> bool:
        """True for a training whose steps on a CPU are long beside the time to prepare operations for a length."""
        return False

    def headline(self, result: Result) -> str:
        """The score printed beside a finished run: the first one at its best evaluation; "" where it has none."""
        best = {metric.name: metric.value for metric in result.metrics}.get("best_step")
        for metric in result.metrics:
            is_score = metric.split not in ("", "train") and not metric.name.startswith("learning_rate=")
            if metric.step == best and is_score and metric.value is not None:
                return f"{metric.name} {percent_text(metric.value)} on {metric.split}"
        return ""

    def kept_bytes(self, run: Run, resolved: ResolvedExperiment) -> int:
        """About how many bytes of weights a run leaves for good; 0 where it leaves none or the number is not known."""
        return 0

    def left_files(self, run: Run, artifacts: ArtifactFolder) -> list[dict[str, Path]]:
        """Sets of files, by kind of file, that a run leaves for runs that need it; one of several sets is enough."""
        return []

    def temporary_files(self, run: Run, artifacts: ArtifactFolder) -> list[Path]:
        """Files that only other runs of the sweep need; with `keep_weights: none` they are removed at its end."""
        return []

    def make(
        self,
        size: str,
        label: str,
        spec: Mapping[str, Any],
        *,
        task: LocatedTask | None = None,
        seed: int | None = None,
        needs: tuple[str, ...] = (),
    ) -> Run:
        """A run of this kind at an encoder size; its spec is `spec` with the kind and the task added."""
        whole: dict[str, Any] = {"kind": self.name, **spec}
        about: dict[str, str] = {}
        if task is not None:
            whole |= {"task": task_block(task), "data": task.fingerprint}
            if task.task.traits:  # for tables, which know tasks by what their runs say
                whole["settings"] = {**whole.get("settings", {}), "traits": dict(task.task.traits)}
            about = {
                "task": task.task.name,
                "data_fingerprint": task.fingerprint,
                "metric": task.task.select_metric,
                "split": task.task.report_splits[0],
            }
        whole = plain(whole)
        return Run(run_id(whole), self.name, label, size, whole, seed=seed, needs=needs, metrics=self.metrics, **about)


class TrainingKind(RunKind):
    """A kind of run that trains a model."""

    several_devices = is_tracked = is_training = True

    @abstractmethod
    def parts(self, run: Run, place: Workplace, machine: Machine) -> tuple[LightningModule, LightningDataModule]:
        """The module that trains a run's model, and the data that it is trained on, as a Trainer takes them.

        Raises InputError where the recipe leaves a value to a search.
        """


def stored_predictions(split: str, checkpoint: Checkpoint, outputs: np.ndarray, targets: np.ndarray) -> Predictions:
    """Outputs (n, ...) and targets (n,) of one split with a fingerprint of the rows they belong to."""
    fingerprint = hashlib.sha256(np.ascontiguousarray(targets).tobytes()).hexdigest()[:16]
    return Predictions(split, checkpoint, outputs, targets, fingerprint)


def scored_metrics(task: Task, result: SplitOutputs, split: str, step: int = 0) -> list[MetricRow]:
    """Every score of a task for the outputs on a split, as rows for the store."""
    return [replace(row, split=split, step=step) for row in task.kind.scores(task, result)]


def with_rows_of(spec: Mapping[str, Any], data: TaskData) -> TaskData:
    """The data of a task with those rows of train that a training with this spec has."""
    return data.on_rows(spec[TRAIN_ROWS], spec["seed"]) if TRAIN_ROWS in spec else data


def notes_on(data: TaskData | LinkSet) -> dict[str, str]:
    """Notes that tables print about results on these data."""
    counted = data.counted if isinstance(data, TaskData) else {}
    classes = {f"{COUNTED}{metric}": name for metric, name in counted.items()}
    further = data.further_notes if isinstance(data, TaskData) else {}
    return {"origin": data.origin, "data": "; ".join(data.notes), **classes, **further}


def weight_bytes(model: ResolvedModel, size: str) -> int:
    """Bytes of a model's weights with a head of two classes; a vocabulary still to be learned counts in full."""
    return BYTES * outline_of(model, size, n_classes=2).weights


def keeps_best(experiment: Experiment, model: ResolvedModel) -> bool:
    """True when the fine-tunings of a model keep their best weights."""
    if experiment.keep_weights == "auto":
        return weight_bytes(model, experiment.encoder) <= LARGEST_KEPT
    return experiment.keep_weights == "best"


def kinds() -> Mapping[str, RunKind]:
    """All kinds of run by name, in the order of the plan.

    Raises InputError where two have one name, and where one does not say what its metrics are.
    """
    by_name = registered("kind of run")
    for name, kind in by_name.items():
        if kind.metrics not in METRICS:
            allowed = " or ".join(map(repr, METRICS))
            raise InputError(f"kind of run {name!r}: metrics is {kind.metrics!r}; write {allowed}")
    return dict(sorted(by_name.items(), key=lambda item: item[1].order))


def kind_of(run: Run) -> RunKind:
    """The kind of a run."""
    return kinds()[run.kind]


def gives_signs(kind: str) -> bool:
    """True where runs of a kind, by its name, give signs of progress from their start on."""
    by_name = kinds()
    return kind in by_name and by_name[kind].gives_signs


def names(*, measures_time: bool) -> tuple[str, ...]:
    """Names of the kinds of run in sweeps that measure time, or of all others."""
    return tuple(name for name, kind in kinds().items() if kind.in_sweeps and kind.measures_time == measures_time)


def carry_out(run: Run, place: Workplace, machine: Machine) -> Result:
    """Carries out a run of any kind and returns its result.

    With it come notes on tuning and hardware, and the seconds of earlier attempts that it resumed."""
    kind = kind_of(run)
    result = kind.carry_out(run, place, machine)
    notes = {**result.notes, **machine.notes, **(place.tuning(run) if kind.is_training else {})}
    return replace(result, notes=notes, seconds_before=sum(machine.earlier))


FLOAT_BYTES = 4  # of an output of a head


def check_outputs(task: Task, data: Any) -> None:
    """Raises InputError where the outputs of runs on these data would be larger than any reader takes, with the size.

    `data`: the task's, of any kind. A run of a user-defined kind, whose outputs are not known here, stores its scores
    in any case (`storable`).
    """
    for split, (rows, columns) in task.kind.stored_outputs(data).items():
        size = stored_bytes(rows, columns, _metrics(task.metrics))
        if size > packing.MOST_BYTES:
            raise InputError(
                f"task {task.name!r}: {split} has {rows:,} rows and {columns:,} outputs a row, {size:,} bytes, and no "
                f"reader takes more than {packing.MOST_BYTES:,}; take fewer rows (max_rows), or metrics that read the "
                f"class of the largest output alone (of its metrics: {', '.join(task.metrics)})"
            )


def stored_bytes(rows: int, columns: int, read_by: Sequence[Metric]) -> int:
    """Bytes of outputs (rows, columns) float32 as they are stored: all of them, or, where too many, as metrics read.

    >>> stored_bytes(7_000, 20_000, ()), stored_bytes(7_000, 2, ())
    (560000000, 56000)
    """
    whole = rows * columns * FLOAT_BYTES
    if whole <= packing.MOST_BYTES or not rows:
        return whole
    row = np.arange(columns, dtype=np.float32)[None] + np.float32(0.5)  # (1, c), of the class with the largest id
    return rows * _smaller(row, read_by).nbytes


def storable(result: Result) -> Result:
    """The result with outputs that can be read again: too large ones as their metrics read them, else left out.

    The scores stay, and a note says whose outputs were left out.
    """
    if all(packing.fits(item.outputs) and packing.fits(item.targets) for item in result.predictions):
        return result
    kept, left_out = [], []
    for item in result.predictions:
        small = item if packing.fits(item.outputs) else _compact(item, result)
        if packing.fits(small.outputs) and packing.fits(small.targets):
            kept.append(small)
        else:
            left_out.append(f"{item.split} {item.outputs.shape} {item.outputs.dtype}")
    what = f"{', '.join(dict.fromkeys(left_out))}: larger than {packing.MOST_BYTES:,} bytes, or no rows of numbers"
    notes = {**result.notes, NOT_STORED: what} if left_out else result.notes
    return replace(result, predictions=kept, notes=notes)


def _compact(item: Predictions, result: Result) -> Predictions:
    """The outputs as the metrics with a score on their split read them, if no score changes by it."""
    read_by = _metrics(row.name for row in result.metrics if row.split == item.split)
    small = _smaller(item.outputs, read_by)
    equal = (metric.scored(item.targets, small) == metric.scored(item.targets, item.outputs) for metric in read_by)
    return replace(item, outputs=small) if small is not item.outputs and all(equal) else item


def _smaller(outputs: np.ndarray, read_by: Sequence[Metric]) -> np.ndarray:
    """Outputs (n, ...) in the one smaller form that all of the metrics have; themselves where there is none."""
    forms = [metric.compact(outputs) for metric in read_by]
    same = all(form.dtype == forms[0].dtype and np.array_equal(form, forms[0]) for form in forms)
    return forms[0] if forms and same and forms[0].nbytes < outputs.nbytes else outputs


def _metrics(names: Iterable[str]) -> list[Metric]:
    return [metric for name in dict.fromkeys(names) if (metric := metric_of(name)) is not None]
