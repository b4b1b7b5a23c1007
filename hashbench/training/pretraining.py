"""Pre-training: a model and the head of its objective over a corpus."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from lightning.pytorch import LightningDataModule
from torch import Tensor

from hashbench.embeddings.base import Batch
from hashbench.experiment.schema import Pretrain
from hashbench.training.checkpoints import Resumable
from hashbench.training.curves import Curves, Point
from hashbench.training.heads import Head, objective_loss
from hashbench.training.machine import Machine
from hashbench.training.model import Model
from hashbench.training.recipe import ClippedModule, adamw, linear_decay, make_trainer, optimizer_setup, reseed


@dataclass(frozen=True)
class Pretrained:
    """What a pre-training leaves behind."""

    model: Model
    points: list[Point]
    steps: int
    tokens_per_second: float


class PretrainingModule(ClippedModule):
    """One model under one objective with the recipe of the experiment."""

    def __init__(self, model: Model, head: Head, recipe: Pretrain, *, total_steps: int, curves: Curves) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self.curves = curves
        self._recipe = recipe
        self._total_steps = total_steps
        self.tokens = 0

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        reseed(self._recipe.seed, self.global_step, self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self.tokens += batch.positions.numel() * self.trainer.world_size
        loss = objective_loss(self.model, self.head, batch, self._recipe.logits)
        # Here and not behind the step, where a checkpoint would be written before its loss is counted.
        self.curves.add_loss(loss, self.global_step + 1)
        return loss

    def configure_optimizers(self) -> Any:
        recipe = self._recipe
        assert recipe.learning_rate is not None and recipe.warmup_steps is not None  # the plan has set both
        optimizer = adamw(
            self,
            learning_rate=recipe.learning_rate,
            betas=recipe.betas,
            eps=recipe.eps,
            weight_decay=recipe.weight_decay,
        )
        return optimizer_setup(optimizer, linear_decay(self._total_steps, recipe.warmup_steps))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["points"] = self.curves.plain()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.curves.restore(checkpoint["points"])


def pretrain(
    model: Model, head: Head, data: LightningDataModule, recipe: Pretrain, *, total_steps: int, machine: Machine
) -> Pretrained:
    """Trains `model` in place and gives it back in evaluation mode with the curves of the training.

    Continues from the checkpoint in the machine's folder, if there is one. Raises `Interrupted` when asked to stop.
    """
    curves = Curves(total_steps, machine.watch)
    module = PretrainingModule(model, head, recipe, total_steps=total_steps, curves=curves)
    resumable = Resumable(
        machine.folder / "resume.ckpt",
        minutes=machine.checkpoint_minutes,
        should_stop=machine.should_stop,
        earlier=machine.earlier,
    )
    trainer = make_trainer(
        device=machine.device,
        devices=machine.devices,
        precision=recipe.precision,
        clip=recipe.clip,
        max_steps=total_steps,
        max_epochs=recipe.max_epochs,
        callbacks=[resumable],
        folder=machine.folder,
    )
    began = time.monotonic()
    trainer.fit(module, datamodule=data, ckpt_path=resumable.resume_from, weights_only=True)
    seconds = time.monotonic() - began
    return Pretrained(model.eval(), curves.points, trainer.global_step, module.tokens / max(seconds, 1e-9))
