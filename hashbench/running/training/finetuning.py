"""Fine-tuning: a pre-trained model and a fresh head on one task, evaluated at intervals, best and last kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.models.objectives.base import TaskHead
from hashbench.models.objectives.registry import task_head
from hashbench.running.experiment.recipes import Finetune, OnHardware
from hashbench.running.training.curves import Curves, Point
from hashbench.running.training.evaluated import EvaluatedModule, TaskTraining, fit_on_task
from hashbench.running.training.evaluation import Evaluation, OutputsBySplit, score_splits
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model
from hashbench.running.training.recipe import matmul_precision, pick_device, precision_found, training_length
from hashbench.scores.registry import evaluate


class FinetuningModule(EvaluatedModule):
    """One model with a fresh head under the recipe of the experiment."""

    head: TaskHead

    def __init__(
        self,
        model: Model,
        head: TaskHead,
        recipe: Finetune,
        data: FinetuningData,
        *,
        learning_rate: float,
        seed: int,
        total_steps: int,
        curves: Curves,
        keep_best_weights: bool,
    ) -> None:
        super().__init__(recipe, learning_rate=learning_rate, seed=seed, total_steps=total_steps, curves=curves)
        self.model, self.head, self._data = model, head, data
        self._keep_best_weights = keep_best_weights
        self._collected: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> what is scored of its rows (B, n_outputs)."""
        return self.head.outputs(self.model, batch)

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The loss, of shape (), of a batch with labels (B,) or (B, W)."""
        return (self.head.batch_loss(self.model, batch),)

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """The labels of a batch (B, L)."""
        return (self.head.n_labels(batch),)

    def on_validation_epoch_start(self) -> None:
        self._collected = {index: [] for index in range(len(self._data.select_splits))}

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.row_ids is not None
        outputs = self(batch).float().cpu().numpy()  # (B, n_outputs)
        self._collected[dataloader_idx].append((batch.row_ids.cpu().numpy(), outputs))

    def on_validation_epoch_end(self) -> None:
        splits = self._data.select_splits
        outputs = {split: self._gather(self._collected[index], split) for index, split in enumerate(splits)}
        selection = score_splits(self._data, outputs, self.curves, self.global_step, self.recipe.select_metric)
        self.take_in(Evaluation(self.global_step, selection, outputs), keep_weights=self._keep_best_weights)

    def _gather(self, collected: list[tuple[np.ndarray, np.ndarray]], split: str) -> np.ndarray:
        """Outputs of all devices in the order of the rows (n, n_outputs); a row that came twice counts once.

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
    """One fine-tuning, as asked for."""

    spec: ModelSpec
    recipe: Finetune
    seed: int
    keep_best_weights: bool = False


Finetuned = TaskTraining[TaskHead]


def finetune(model: Model, data: FinetuningData, job: Job, *, learning_rate: float, machine: Machine) -> Finetuned:
    """Fine-tunes `model` in place and gives back the best and the last evaluation."""
    torch.manual_seed(job.seed)
    if job.recipe.weight_decay == 0:  # decay would reach the rows of other types too
        model.embedding.narrow(torch.tensor(data.codes))
    head = make_head_of(model, data.data, job.spec)
    total_steps, _ = training_length(job.recipe, data.steps_per_epoch)
    module = FinetuningModule(
        model,
        head,
        job.recipe,
        data,
        learning_rate=learning_rate,
        seed=job.seed,
        total_steps=total_steps,
        curves=Curves(total_steps, machine.watch),
        keep_best_weights=job.keep_best_weights or bool(data.test_splits),
    )
    return fit_on_task(module, data, machine, model=model, head=head, task=data.data.task)


def make_head_of(model: Model, data: TaskData, spec: ModelSpec) -> TaskHead:
    """A fresh head, but for the dense layer where the model starts from published weights that have one."""
    head_class = task_head(text_kind(data.task).head)
    head = head_class.for_task(spec.head, model.encoder, n_outputs=data.n_outputs, label_names=data.label_names)
    if model.published_dense is not None:
        head.start_dense(model.published_dense)
    return head


def report_once(
    done: Finetuned, data: FinetuningData, points: list[Point], machine: Machine, recipe: OnHardware
) -> OutputsBySplit:
    """Outputs (n, n_outputs) on splits that are only reported, with the weights as they stand; adds their scores."""
    outputs = outputs_on(done.model, done.head, data, machine, recipe)
    for split, values in outputs.items():
        for name, score in evaluate(data.data.task.metrics, data.targets(split), values).items():
            points.append(Point(split, name, done.best.step, score.value, score.reason))
    return outputs


def outputs_on(
    model: Model, head: TaskHead, data: FinetuningData, machine: Machine, recipe: OnHardware
) -> OutputsBySplit:
    """Outputs (n, n_outputs) of the model as it stands on every split that is only reported."""
    device = torch.device(pick_device(machine.device))
    bf16 = precision_found(recipe.precision, machine.device) == "bf16"
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=bf16)
    model, head = model.to(device).eval(), head.to(device).eval()
    outputs: OutputsBySplit = {}
    for split in data.test_splits:
        ordered = np.empty(0)
        for batch in data.evaluation_loader(split, whole=True):
            batch = batch.to(device)
            assert batch.row_ids is not None
            with torch.inference_mode(), autocast, matmul_precision(recipe.matmul_precision):
                # (B, n_outputs)
                values = head.outputs(model, batch).float().cpu().numpy()
            if not len(ordered):
                ordered = np.full((len(data.targets(split)), values.shape[1]), np.nan, np.float32)  # (n, n_outputs)
            ordered[batch.row_ids.cpu().numpy()] = values
        outputs[split] = ordered
    return outputs
