"""Evaluations of models that are trained already, and predictions of other programs: runs that no sweep plans.

A finished fine-tuning on a further labelled set gives scores and predictions with the best weights; `hashbench
evaluate` adds the run to the experiments that the fine-tuning belongs to. Predictions of another program on a task are
stored beside its runs, so that they are paired, by `hashbench data import-predictions`; only tables and `hashbench
compare` read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import TEXTS_NOTE, MetricRow
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.objectives.base import TaskHead
from hashbench.models.text.base import Tokenizer
from hashbench.results.read.runs import IMPORTED
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.recipes import OnHardware
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ModelFiles
from hashbench.running.runs.base import RunKind, Workplace, notes_on, scored_metrics, stored_predictions
from hashbench.running.runs.finetuning import length_of
from hashbench.running.runs.further_sets import FurtherSet
from hashbench.running.training.devices import precision_found
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, load_weights
from hashbench.store.planning import Run
from hashbench.store.result import Result

BATCH_SIZE = 32  # an evaluation takes four times as many


@dataclass(frozen=True)
class FinetunedModel:
    """A fine-tuned model with its best weights, its tokenizer and its coder."""

    spec: ModelSpec
    tokenizer: Tokenizer
    coder: Coder  # fitted
    model: Model
    head: TaskHead
    max_length: int
    pad_to_max: bool = False
    hardware: OnHardware = OnHardware()


@dataclass(frozen=True)
class ExportedModel:
    """A fine-tuned model read from the folder to which it was exported."""

    folder: Path
    run: str  # id of the fine-tuning that it is from
    task: str  # name of the task that it learned
    label: str  # of the model, in the experiment that it is from
    size: str
    n_outputs: int
    class_names: tuple[str, ...]
    label_order: tuple[str, ...]  # classes by the numbers that they may have in data; () where no order is declared
    is_pair: bool
    multi_label: bool  # whether a text may have several labels
    weights: str  # SHA-256 of the file
    # SHA-256 of model and head as a fine-tuning stores them, by kind of file
    parts: Mapping[str, str]
    trained: FinetunedModel


class FurtherEvaluation(RunKind):
    """Kind of run: the evaluation of a fine-tuned model on a further labelled set."""

    name = "evaluation"
    metrics = "evaluation"
    order = 70
    gives_signs = True
    in_sweeps = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return []

    def of(self, tuned: Run, further: FurtherSet) -> Run:
        """The run that evaluates a fine-tuning of this database on a further set."""
        spec = {"trained": tuned.id, "seed": tuned.seed}
        return self.make(tuned.encoder, tuned.model, spec, task=further, seed=tuned.seed, needs=(tuned.id,))

    def of_exported(self, exported: ExportedModel, label: str, further: FurtherSet) -> Run:
        """The run that evaluates an exported model whose fine-tuning the database does not have."""
        spec = {"trained": exported.run, "weights": exported.weights}
        return self.make(exported.size, label, spec, task=further)

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        data = place.materials.task_data(str(run.task))
        tuned = place.runs[run.spec["trained"]]  # the caller has made sure of its files, by `artifacts.kept_files`
        trained = tuned_model(tuned, data, place, place.artifacts.files(tuned.id))
        return evaluated(trained, data, machine, place.materials.cache)


def tuned_model(tuned: Run, data: TaskData, place: Workplace, files: ModelFiles) -> FinetunedModel:
    """The model of a fine-tuning with its best weights from `files`; `data` gives the number of outputs of its head."""
    from hashbench.running.training.finetuning import make_head_of

    model = place.model(tuned)
    texts, recipe = place.materials.texts(model), model.finetune
    built = texts.build(model.spec, tuned.encoder, seed=0)
    head = make_head_of(built, data, model.spec)
    load_weights(built, files.weights)
    load_weights(head, files.head)
    return FinetunedModel(
        model.spec, texts.tokenizer, texts.coder, built, head, length_of(tuned, place), recipe.pad_to_max, recipe
    )


def evaluated(trained: FinetunedModel, data: TaskData, machine: Machine, cache: Path) -> Result:
    """Scores and predictions of a trained model on the one split of a further set, and how much of it was read."""
    from hashbench.data.tasks.split_facts import texts_read
    from hashbench.data.tasks.text_batches import FinetuningData
    from hashbench.running.training.finetuning import outputs_on

    batches = data.task.kind.batches(
        data,
        trained.tokenizer,
        trained.coder,
        template=trained.spec.text.template,
        batch_size=BATCH_SIZE,
        max_length=trained.max_length,
        pad_to_max=trained.pad_to_max,
        seed=0,
        folder=cache,
    )
    assert isinstance(batches, FinetuningData)  # a further set is one of texts
    metrics = [MetricRow("best_step", 0)]
    predictions = []
    for split, outputs in outputs_on(trained.model, trained.head, batches, machine, trained.hardware).items():
        targets = batches.targets(split)
        metrics += scored_metrics(data.task, SplitOutputs(outputs, targets), split)
        predictions.append(stored_predictions(split, "best", outputs, targets))
    precision = precision_found(trained.hardware.precision, machine.device)
    read = texts_read(data, trained.tokenizer, trained.spec.text.template, trained.max_length, cache)
    notes = {**notes_on(data), "precision_found": precision, TEXTS_NOTE: read.note()}
    return Result(metrics=metrics, predictions=predictions, notes=notes)


class ImportedPredictions(RunKind):
    """Kind of run: predictions that another program made."""

    name = IMPORTED
    metrics = "evaluation"
    order = 90
    gives_signs = True
    in_sweeps = False

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return []

    def of(self, label: str, trained: Mapping[str, Any], outputs: np.ndarray, *, metric: str, split: str) -> Run:
        """The run of outputs (n,) on a split; `trained`: the spec of a run on the same data."""
        digest = hashlib.sha256(f"{outputs.dtype}".encode() + np.ascontiguousarray(outputs).tobytes()).hexdigest()
        spec = {
            "kind": self.name, "label": label, "task": trained["task"], "data": trained["data"], "split": split,
            "outputs": digest,
        }  # fmt: skip
        name = trained["task"]["name"]
        return Run(
            run_id(spec), self.name, label, "", spec, task=name, data_fingerprint=trained["data"], metric=metric,
            split=split,
        )  # fmt: skip

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        raise InputError(f"run {run.id[:12]}: predictions of another program; import them again")


EVALUATION, IMPORTED_PREDICTIONS = FurtherEvaluation(), ImportedPredictions()
KIND = [EVALUATION, IMPORTED_PREDICTIONS]
