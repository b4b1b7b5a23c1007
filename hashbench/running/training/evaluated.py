"""Trainings on a task, whatever they predict: the evaluations, the one that counts, and its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch import nn

from hashbench.data.tasks.base import Task
from hashbench.data.tasks.item_batches import ItemData
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.running.experiment.recipes import Finetune
from hashbench.running.training.curves import Curves, Point
from hashbench.running.training.evaluation import Evaluation, Progress, as_plain, from_plain
from hashbench.running.training.fit import fit
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model
from hashbench.running.training.module import RecipeModule
from hashbench.running.training.recipe import matmul_precision, schedule_of, training_length, warmup_length
from hashbench.running.training.sharding import whole

HeadT = TypeVar("HeadT", bound=nn.Module)


class EvaluatedModule(RecipeModule):
    """A `model` and a `head` trained under a recipe and evaluated at intervals; subclasses say what a step and an
    evaluation are."""

    def __init__(self, recipe: Finetune, *, learning_rate: float, seed: int, total_steps: int, curves: Curves) -> None:
        warmup = warmup_length(recipe, total_steps)
        schedule = schedule_of(recipe.schedule, total=total_steps, warmup=warmup, cycles=recipe.restart_cycles)
        super().__init__(
            recipe,
            learning_rate=learning_rate,
            schedule=schedule,
            seed=seed,
            total_steps=total_steps,
            curves=curves,
        )
        self.progress, self.recipe = Progress(), recipe

    def take_in(self, evaluation: Evaluation, *, keep_weights: bool) -> None:
        """Takes an evaluation in, with its weights where it is the best so far; stops when patience is at its end."""
        if self.progress.add(evaluation) and keep_weights:  # alike on all devices
            evaluation.weights = {
                name: whole(tensor.detach()).to("cpu", copy=True)
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
    """What a training on a task leaves behind. The embedding may be narrowed to the types of the task: see `widen`."""

    model: Model
    head: HeadT
    points: list[Point]
    best: Evaluation
    last: Evaluation
    steps: int

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
    """Trains a module that holds `model` and `head`, evaluated at intervals and at its end."""
    recipe = module.recipe
    epochs = training_length(recipe, data.steps_per_epoch)[1]
    interval = evaluation_interval(recipe, task, data.steps_per_epoch)
    trainer = fit(module, data, recipe, machine, epochs=epochs, interval=interval)
    if module.progress.last is None or module.progress.last.step != trainer.global_step:
        # The end of training always counts.
        with matmul_precision(recipe.matmul_precision):
            trainer.validate(module, datamodule=data, verbose=False)
        module.make_whole()
    progress = module.progress
    assert progress.best is not None and progress.last is not None  # validated above at the latest
    return TaskTraining(model, head, module.curves.points, progress.best, progress.last, trainer.global_step)


def evaluation_interval(recipe: Finetune, task: Task, steps_per_epoch: int) -> int:
    """Optimizer steps between two evaluations: as asked for by steps or by number, or by the task's rule."""
    total_steps, _ = training_length(recipe, steps_per_epoch)
    if recipe.evaluation_steps is not None:
        return min(recipe.evaluation_steps, total_steps)
    if recipe.evaluations is not None:
        return -(-total_steps // recipe.evaluations)
    return min(task.evaluation_every(steps_per_epoch, recipe.evaluations_per_epoch), total_steps)
