"""Trainings on a task of any kind: evaluations at intervals, and the choice of the best one and its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.item_batches import ItemData
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.training.fit import fit
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model
from hashbench.running.training.module import Curves, RecipeModule
from hashbench.running.training.recipe import schedule_of, training_length, warmup_length

# split -> outputs of the head in the order of the rows (n, n_outputs) float32
OutputsBySplit = dict[str, np.ndarray]
HeadT = TypeVar("HeadT", bound=nn.Module)


@dataclass
class Evaluation:
    """One evaluation of a training: step, the score that selects the best, outputs and, if kept, weights."""

    step: int
    selection: float | None
    outputs: OutputsBySplit
    weights: dict[str, Tensor] | None = None


@dataclass
class Progress:
    """The best and the last evaluation of a training so far, and the number of evaluations since the last gain.

    One without a value is neither a gain nor none: it cannot be compared.
    """

    best: Evaluation | None = None
    last: Evaluation | None = None
    without_gain: int = 0

    def add(self, evaluation: Evaluation) -> bool:
        """Adds an evaluation; True if it is the best so far. Of equal ones the later counts (HashFormers' code)."""
        self.last = evaluation
        ahead = self.best is None or _at_least(evaluation.selection, self.best.selection)
        gained = self.best is None or _above(evaluation.selection, self.best.selection)
        if evaluation.selection is not None:
            self.without_gain = 0 if gained else self.without_gain + 1
        if ahead:
            self.best = evaluation
        return ahead


def _at_least(new: float | None, old: float | None) -> bool:
    return old is None or (new is not None and new >= old)


def _above(new: float | None, old: float | None) -> bool:
    return new is not None and (old is None or new > old)


def as_plain(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """An evaluation as tensors and plain values, which is all that a checkpoint may hold."""
    if evaluation is None:
        return None
    outputs = {split: torch.from_numpy(values) for split, values in evaluation.outputs.items()}
    return {**vars(evaluation), "outputs": outputs}


def from_plain(plain: dict[str, Any] | None) -> Evaluation | None:
    """The evaluation that `as_plain` wrote down."""
    if plain is None:
        return None
    return Evaluation(**{**plain, "outputs": {split: values.numpy() for split, values in plain["outputs"].items()}})


class EvaluatedModule(RecipeModule):
    """LightningModule trained on a task and evaluated at intervals; subclasses define its loss and validation."""

    recipe: FinetuneRecipe

    def __init__(self, recipe: FinetuneRecipe, *, seed: int, total_steps: int, curves: Curves) -> None:
        warmup = warmup_length(recipe, total_steps)
        schedule = schedule_of(recipe.schedule, total=total_steps, warmup=warmup, cycles=recipe.restart_cycles)
        super().__init__(recipe, schedule=schedule, seed=seed, total_steps=total_steps, curves=curves)
        self.progress = Progress()

    def take_in(self, evaluation: Evaluation, *, keep_weights: bool) -> None:
        """Records an evaluation, with weights if it is the best so far; ends the training when patience runs out."""
        if self.progress.add(evaluation) and keep_weights:  # on all devices or on none
            evaluation.weights = {
                name: tensor.detach().to("cpu", copy=True)
                for name, tensor in self.state_dict().items()
                if name.startswith(("model.", "head."))
            }
        if self.recipe.patience is not None and self.progress.without_gain >= self.recipe.patience:
            self.trainer.should_stop = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["progress"] = {
            "without_gain": self.progress.without_gain,
            "best": as_plain(self.progress.best),
            "last": as_plain(self.progress.last),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        stored = checkpoint["progress"]
        self.progress = Progress(from_plain(stored["best"]), from_plain(stored["last"]), stored["without_gain"])


@dataclass(frozen=True)
class TaskTraining(Generic[HeadT]):
    """A finished training on a task; its embedding may hold the task's types alone until `Embedding.widen`."""

    model: Model
    head: HeadT
    points: list[MetricRow]
    best: Evaluation
    last: Evaluation
    steps: int

    def facts(self, train_rows: int) -> list[MetricRow]:
        """Steps and rows of the training as facts that tables print beside the scores."""
        steps = {"best_step": self.best.step, "last_step": self.last.step, "steps_done": self.steps}
        return [MetricRow(name, n) for name, n in {**steps, "train_rows": train_rows}.items()]

    def restore_best(self) -> None:
        """Puts the weights of the best evaluation back into the model and its head."""
        weights = self.best.weights
        if weights is None:
            raise RuntimeError("the best weights were not kept")
        for prefix, part in (("model.", self.model), ("head.", self.head)):
            part.load_state_dict(
                {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
            )


def fit_on_task(
    module: EvaluatedModule,
    data: FinetuningData | ItemData,
    machine: Machine,
    *,
    model: Model,
    head: HeadT,
    task: Task,
) -> TaskTraining[HeadT]:
    """Trains `module`, which holds `model` and `head`, with evaluations at intervals and at the end."""
    recipe = module.recipe
    epochs = training_length(recipe, data.steps_per_epoch)[1]
    interval = evaluation_interval(recipe, task, data.steps_per_epoch)
    trainer = fit(module, data, recipe, machine, epochs=epochs, interval=interval)
    if module.progress.last is None or module.progress.last.step != trainer.global_step:
        # The end of training always counts.
        trainer.validate(module, datamodule=data, verbose=False)
    progress = module.progress
    assert progress.best is not None and progress.last is not None  # validated above at the latest
    return TaskTraining(model, head, module.curves.points, progress.best, progress.last, trainer.global_step)


def evaluation_interval(recipe: FinetuneRecipe, task: Task, steps_per_epoch: int) -> int:
    """Optimizer steps between two evaluations, by the recipe or else by the task's rule."""
    total_steps, _ = training_length(recipe, steps_per_epoch)
    if recipe.evaluation_steps is not None:
        return min(recipe.evaluation_steps, total_steps)
    if recipe.evaluations is not None:
        return -(-total_steps // recipe.evaluations)
    return min(task.evaluation_every(steps_per_epoch, recipe.evaluations_per_epoch), total_steps)
