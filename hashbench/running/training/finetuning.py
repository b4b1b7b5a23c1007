"""Fine-tuning of a model with a fresh head on one task; the best and the last evaluation are kept.

A learning rate may be chosen from a grid on rows of the training set that are held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hashbench.common.measured import MetricRow, searched_values
from hashbench.common.progress import progress
from hashbench.data.tasks.text import no_value, text_kind
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.models.objectives.base import TaskHead, task_head
from hashbench.running.experiment.recipes import Finetune, FinetuneRecipe, OnHardware
from hashbench.running.training.devices import autocast, pick_device, precision_found
from hashbench.running.training.machine import Machine, Watch
from hashbench.running.training.model import Model
from hashbench.running.training.module import Curves, NotFinite
from hashbench.running.training.recipe import training_length
from hashbench.running.training.task_training import (
    EvaluatedModule,
    Evaluation,
    OutputsBySplit,
    TaskTraining,
    fit_on_task,
)
from hashbench.scores.base import evaluate


class FinetuningModule(EvaluatedModule):
    """LightningModule that fine-tunes a model with a fresh head under the experiment's recipe."""

    head: TaskHead

    def __init__(
        self,
        model: Model,
        head: TaskHead,
        recipe: FinetuneRecipe,
        data: FinetuningData,
        *,
        seed: int,
        keep_best_weights: bool,
        watch: Watch | None = None,
    ) -> None:
        total_steps, _ = training_length(recipe, data.steps_per_epoch)
        super().__init__(recipe, seed=seed, total_steps=total_steps, curves=Curves(total_steps, watch))
        self.model, self.head, self._data = model, head, data
        self._keep_best_weights = keep_best_weights
        self._collected: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def forward(self, batch: Batch) -> Tensor:
        """The outputs (B, n_outputs) of a batch's rows, as metrics score them."""
        return self.head.outputs(self.model, batch)

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The loss, of shape (), of a batch with labels (B,) or (B, W)."""
        return (self.head.batch_loss(self.model, batch),)

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """Number of labels of a batch (B, L)."""
        return (self.head.n_labels(batch),)

    def on_validation_epoch_start(self) -> None:
        self._collected = {index: [] for index in range(len(self._data.select_splits))}

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.row_ids is not None
        outputs = self(batch).float().cpu().numpy()  # (B, n_outputs)
        self._collected[dataloader_idx].append((batch.row_ids.cpu().numpy(), outputs))

    def on_validation_epoch_end(self) -> None:
        if self.trainer.sanity_checking:  # before the first step a plain Trainer tries some batches
            return
        splits = self._data.select_splits
        outputs = {split: self._gather(self._collected[index], split) for index, split in enumerate(splits)}
        selection = score_splits(self._data, outputs, self.curves, self.global_step, self.recipe.select_metric)
        self.take_in(Evaluation(self.global_step, selection, outputs), keep_weights=self._keep_best_weights)

    def _gather(self, collected: list[tuple[np.ndarray, np.ndarray]], split: str) -> np.ndarray:
        """A split's outputs from all devices in the order of its rows (n, n_outputs); a repeated row counts once.

        `collected`: row ids (B,) and outputs (B, n_outputs) of each batch of this device.
        """
        if self.trainer.world_size > 1:
            shares: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shares, collected)
            collected = [part for share in shares for part in share]
        rows = np.concatenate([row_ids for row_ids, _ in collected])
        values = np.concatenate([outputs for _, outputs in collected])
        # (n, n_outputs)
        ordered = np.empty((len(self._data.targets(split)), values.shape[1]), np.float32)
        ordered[rows] = values
        return ordered


@dataclass(frozen=True)
class Job:
    """The model, recipe and seed of a fine-tuning to carry out."""

    spec: ModelSpec
    recipe: FinetuneRecipe
    seed: int
    keep_best_weights: bool = False


Finetuned = TaskTraining[TaskHead]


def module_of(model: Model, data: FinetuningData, job: Job, *, watch: Watch | None = None) -> FinetuningModule:
    """The module that fine-tunes `model` in place, with a fresh head."""
    torch.manual_seed(job.seed)
    if job.recipe.weight_decay == 0 and data.knows_types:  # decay would reach the rows of other types too
        model.embedding.narrow(torch.tensor(data.codes))
    head = make_head_of(model, data.data, job.spec)
    keeps = job.keep_best_weights or bool(data.test_splits)
    return FinetuningModule(model, head, job.recipe, data, seed=job.seed, keep_best_weights=keeps, watch=watch)


def finetune(model: Model, data: FinetuningData, job: Job, *, machine: Machine) -> Finetuned:
    """Fine-tunes `model` in place; returns the training with its best and last evaluation."""
    module = module_of(model, data, job, watch=machine.watch)
    return fit_on_task(module, data, machine, model=model, head=module.head, task=data.data.task)


def best_recipe(
    requested: Finetune,
    spec: ModelSpec,
    held_out: Callable[[FinetuneRecipe], tuple[Model, FinetuningData]],
    *,
    seed: int,
    machine: Machine,
) -> tuple[FinetuneRecipe, list[MetricRow]]:
    """The best combination of the values that are searched, and the score of each on held-out rows.

    Of equal ones the first, which has the smaller values; `held_out` makes a fresh model and the data of a recipe,
    whose selection split is a seeded tenth of train. Where nothing is searched nothing is tried; where no combination
    has a score the first is taken, and `undecided` says so.
    """
    recipes = requested.recipes()
    if not requested.searches:
        return recipes[0], []
    scores: list[MetricRow] = []
    for number, recipe in enumerate(recipes):
        model, data = held_out(recipe)
        part = replace(machine, watch=None, folder=machine.folder / f"rate-{number}")
        name = ",".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                        for key, value in chosen_values(requested, recipe).items())  # fmt: skip
        try:
            trained = finetune(model, data, Job(spec, recipe, seed), machine=part)
        except NotFinite as error:  # values that diverge lose; the others are worth a try
            scores.append(MetricRow(name, None, "holdout", reason=str(error)))
        else:
            value = trained.best.selection
            reason = None if value is not None else without_value(data, recipe.select_metric)
            scores.append(MetricRow(name, value, "holdout", reason=reason))
    values = [score.value for score in scores]
    best = max(range(len(recipes)), key=lambda i: (values[i] is not None, values[i] or 0.0, -i))
    return recipes[best], scores


def undecided(scores: Sequence[MetricRow]) -> str:
    """The reason why a search could choose nothing: none of its combinations has a score; "" where one has."""
    if not scores or any(score.value is not None for score in scores):
        return ""
    reasons = "; ".join(dict.fromkeys(str(score.reason) for score in scores))
    return (
        f"no combination has a score ({reasons}), so that nothing was chosen and the first is taken: {scores[0].name}"
    )


def without_value(data: FinetuningData, metric: str | None = None) -> str:
    """The reason why the metric that selects (None: the task's) has no value on the splits that it selects on."""
    name = metric or data.data.task.select_metric
    reason = no_value(data.data, name, data.select_splits) or "not for what was predicted there"
    return f"{name} has no value on {' and '.join(data.select_splits)}: {reason}"


def chosen_values(requested: Finetune, recipe: FinetuneRecipe) -> dict[str, Any]:
    """The values of a recipe that were searched, by key; the learning rate last."""
    keys = searched_values(requested.model_dump())
    return {key: getattr(recipe, key) for key in sorted(keys, key=lambda key: key == "learning_rate")}


def score_splits(
    data: FinetuningData, outputs: Mapping[str, np.ndarray], curves: Curves, step: int, select_metric: str | None
) -> float | None:
    """Adds every metric of the task on every split to the curves; returns the score by which evaluations are compared.

    `outputs` (n, n_outputs) of each split, in the order of its rows.
    The selecting score is taken over all selection splits laid together (MNLI: matched and mismatched). None where
    it is undefined, as Pearson's is for constant outputs.
    """
    task = data.data.task
    for split, values in outputs.items():
        for score in evaluate(task.metrics, data.targets(split), values).values():
            curves.add(replace(score, split=split, step=step))
    metric = select_metric or task.select_metric
    together = evaluate(
        (metric,),
        np.concatenate([data.targets(split) for split in outputs]),
        np.concatenate([outputs[split] for split in outputs]),
    )
    return together[metric].value


def make_head_of(model: Model, data: TaskData, spec: ModelSpec) -> TaskHead:
    """A fresh head for a task; its dense layer is the published one where the model's published weights have it."""
    head_class = task_head(text_kind(data.task).head)
    facts: dict[str, Any] = {"n_outputs": data.n_outputs, "label_names": data.label_names}
    head = head_class.for_task(spec.head, model.encoder, **facts, n_texts=len(data.task.text))
    if model.published_dense is not None:
        head.start_dense(model.published_dense)
    return head


def report_once(
    done: Finetuned, data: FinetuningData, points: list[MetricRow], machine: Machine, recipe: OnHardware
) -> OutputsBySplit:
    """Outputs (n, n_outputs) on splits that are reported but select nothing; their scores are added to `points`."""
    outputs = outputs_on(done.model, done.head, data, machine, recipe)
    for split, values in outputs.items():
        scores = evaluate(data.data.task.metrics, data.targets(split), values).values()
        points += [replace(score, split=split, step=done.best.step) for score in scores]
    return outputs


def outputs_on(
    model: Model, head: TaskHead, data: FinetuningData, machine: Machine, recipe: OnHardware
) -> OutputsBySplit:
    """Outputs (n, n_outputs) of the present weights on every split that is reported but selects nothing."""
    device = torch.device(pick_device(machine.device))
    precision = precision_found(recipe.precision, machine.device)
    model, head = model.to(device).eval(), head.to(device).eval()
    outputs: OutputsBySplit = {}
    for split in data.test_splits:
        ordered = np.empty(0)
        for batch in data.evaluation_loader(split, whole=True):
            progress(f"evaluation on {split}")
            batch = batch.to(device)
            assert batch.row_ids is not None
            computing = autocast(model.encoder, precision, device)
            with torch.inference_mode(), computing:
                # (B, n_outputs)
                values = head.outputs(model, batch).float().cpu().numpy()
            if not len(ordered):
                ordered = np.full((len(data.targets(split)), values.shape[1]), np.nan, np.float32)  # (n, n_outputs)
            ordered[batch.row_ids.cpu().numpy()] = values
        outputs[split] = ordered
    return outputs
