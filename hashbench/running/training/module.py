"""The base LightningModule of all trainings: micro-batches, optimizer, schedule, clipping, seeds, stored curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from hashbench.common.measured import MetricRow
from hashbench.models.embeddings.base import Batch
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training.accumulation import MicroBatch, added, micro_batches, weighted
from hashbench.running.training.machine import Watch
from hashbench.running.training.model import Model
from hashbench.running.training.recipe import Schedule, adamw, drops_out, reseed

# A loss curve has about this many points, whatever the number of steps.
LOSS_POINTS = 100


class NotFinite(Exception):
    """The loss of a training became NaN or infinite, so that going on is useless."""


class Curves(torch.nn.Module):
    """The measured points of a training so far and the running mean of its loss, which its checkpoints contain."""

    def __init__(self, total_steps: int, watch: Watch | None = None) -> None:
        from torchmetrics.aggregation import MeanMetric  # imports transformers, and points are read without it

        super().__init__()
        self.points: list[MetricRow] = []
        self.every = max(1, total_steps // LOSS_POINTS)
        self._total_steps, self._watch = total_steps, watch
        self._loss = MeanMetric(nan_strategy="disable")  # asking after each would have a GPU wait for it
        self._loss.persistent(True)

    def add_loss(self, loss: Tensor, step: int) -> None:
        """Counts the loss, of shape (), of the step just done; every few steps their mean becomes a point.

        Raises NotFinite where it is NaN or infinite.
        """
        self._loss.update(loss.detach())
        if step % self.every == 0:
            mean = float(self._loss.compute())
            if not math.isfinite(mean):
                steps = f"steps {step - self.every + 1} to {step}" if self.every > 1 else f"step {step}"
                raise NotFinite(f"the loss is {mean} at {steps}; try a smaller learning_rate")
            self.add(MetricRow("loss", mean, "train", step))
            self._loss.reset()

    def add(self, point: MetricRow) -> None:
        """Adds a point to the curves and sends its value, if it has one, to the live view."""
        self.points.append(point)
        if self._watch is not None and point.value is not None:
            before = len(self.points) - 1
            self._watch({f"{point.split}/{point.name}": point.value}, point.step, self._total_steps, before)

    def plain(self) -> list[list[Any]]:
        """The points as plain values, for a checkpoint."""
        return [[p.split, p.name, p.step, p.value, p.reason] for p in self.points]

    def restore(self, plain: list[list[Any]]) -> None:
        """Sets the points from the plain values of a checkpoint."""
        self.points = [MetricRow(name, value, split, step, reason=reason) for split, name, step, value, reason in plain]


class RecipeModule(LightningModule):
    """Base LightningModule trained under a recipe of the experiment; a subclass holds a model and defines its loss."""

    model: Model
    head: nn.Module

    def __init__(
        self,
        recipe: PretrainRecipe | FinetuneRecipe,
        *,
        schedule: Schedule,
        seed: int,
        total_steps: int,
        curves: Curves,
    ) -> None:
        super().__init__()
        self.recipe, self.curves, self.total_steps = recipe, curves, total_steps
        self._schedule, self._seed = schedule, seed
        self.micro_batch_size: int | None = None  # rows at a time; None: a batch is computed in one piece

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The terms of the loss of a batch, each of shape () and a mean over its labels."""
        raise NotImplementedError

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """For each term of the loss, the number of labels of a batch over which it is the mean."""
        raise NotImplementedError

    def prepared(self, batch: Batch) -> Batch:
        """A batch (B, L) in main memory, with what its loss would have to wait for on the device."""
        return batch

    def training_step(self, batch: Batch | list[MicroBatch], batch_idx: int) -> Tensor:
        """The loss, of shape (), of a batch; of a batch in parts, backward has run already for all but the last."""
        loss = added(self.loss_terms(batch)) if isinstance(batch, Batch) else self._last_of(batch)
        # Here and not behind the step: a checkpoint would come before it.
        self.curves.add_loss(loss, self.global_step + 1)
        return loss

    def _last_of(self, parts: list[MicroBatch]) -> Tensor:
        """The loss of all parts, of shape (), to run backward for the last part; for the others it has run.

        Under several processes gradients made here, within the forward pass, stay with their process; gradients of the
        last part are added and sent.
        """
        self.zero_grad()
        before = torch.zeros((), device=self.device)
        for part in parts[:-1]:
            loss = weighted(self.loss_terms(part.batch), part.shares)
            loss.backward()
            before = before + loss.detach()
        return weighted(self.loss_terms(parts[-1].batch), parts[-1].shares) + before

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Optimizer) -> None:
        """Clears the gradients, but not with micro-batches: all but the last one have run before this call."""
        if self.micro_batch_size is None:
            super().optimizer_zero_grad(epoch, batch_idx, optimizer)

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch | list[MicroBatch]:
        """The batch (B, L) to send to the device: in training its micro-batches, if any; for a GPU page-locked.

        Each of several devices has the whole batch here and takes its rows of it, so that it knows their share.
        """
        world_size = self.trainer.world_size
        split = self.trainer.training and (self.micro_batch_size is not None or world_size > 1)
        parts: list[Batch] | list[MicroBatch]
        if split:
            parts = micro_batches(
                batch, self.micro_batch_size, self.label_counts, rank=self.global_rank, world_size=world_size
            )
            parts = [replace(part, batch=self.prepared(part.batch)) for part in parts]
        else:
            parts = [self.prepared(batch)]
        if self.device.type == "cuda":
            parts = [part.pin_memory() for part in parts]  # type: ignore[assignment]
        return parts if split else parts[0]  # type: ignore[return-value]

    def transfer_batch_to_device(
        self, batch: Batch | list[MicroBatch], device: torch.device, dataloader_idx: int
    ) -> Batch | list[MicroBatch]:
        """The batch (B, L), or its micro-batches, on the device; copies to a GPU are asynchronous."""
        unwaiting = device.type == "cuda"
        if isinstance(batch, Batch):
            return batch.to(device, non_blocking=unwaiting)
        return [part.to(device, non_blocking=unwaiting) for part in batch]

    def on_train_batch_start(self, batch: Batch | list[MicroBatch], batch_idx: int) -> None:
        # With dropout each device draws other masks; without it what one device would draw: negatives, for example.
        apart = self.global_rank > 0 and drops_out(self)
        reseed(self._seed, self.global_step, self.global_rank if apart else 0)

    def configure_optimizers(self) -> Any:
        recipe = self.recipe
        optimizer = adamw(
            self,
            learning_rate=recipe.learning_rate,
            betas=recipe.betas,
            eps=recipe.eps,
            weight_decay=recipe.weight_decay,
            embedding_rate=(recipe.embedding_rate if isinstance(recipe, FinetuneRecipe) else None) or 1.0,
        )
        scheduler = LambdaLR(optimizer, self._schedule)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Scales the gradients so that their norm, over all parameters, is at most the recipe's `clip`.

        Lightning refuses to clip beside a fused optimizer under bf16, because such an optimizer may undo a loss scale
        after the clipping; bf16 has no loss scale.
        """
        if self.recipe.clip is not None:
            parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            clip_norm(parameters, self.recipe.clip)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["points"] = self.curves.plain()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.curves.restore(checkpoint["points"])


def clip_norm(parameters: Sequence[nn.Parameter], limit: float) -> None:
    """Scales the gradients so that the norm of all of them is at most `limit`."""
    norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
    if norm.device.type == "cpu" and norm <= limit:
        return  # the factor would be 1; on a GPU asking would cost a wait
    clip_grads_with_norm_(parameters, limit, norm)
