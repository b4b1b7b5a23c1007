"""Pre-training: a model and the head of its objective over a corpus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from hashbench.common.measured import MetricRow
from hashbench.data.corpora.batches import PretrainingData
from hashbench.data.sources.loader import LoadedData
from hashbench.models.embeddings.base import NO_LABEL, Batch
from hashbench.models.objectives.base import Head
from hashbench.running.experiment.recipes import PretrainRecipe
from hashbench.running.training.accumulation import MicroBatch
from hashbench.running.training.curves import Curves
from hashbench.running.training.devices import pick_device
from hashbench.running.training.fit import fit
from hashbench.running.training.held_out import held_out
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model
from hashbench.running.training.module import RecipeModule
from hashbench.running.training.recipe import linear_decay


@dataclass(frozen=True)
class Pretrained:
    """A finished pre-training: the model and the head of its objective, its curves, and its speed."""

    model: Model
    head: Head
    points: list[MetricRow]
    steps: int
    tokens_per_second: float
    # Tokens read in all, and of rows of words what was cut, and scores on those held out; () where texts are a stream
    facts: tuple[MetricRow, ...] = ()


class PretrainingModule(RecipeModule):
    """LightningModule that trains a model and the head of its objective on a corpus, under the experiment's recipe."""

    head: Head
    recipe: PretrainRecipe

    def __init__(self, model: Model, head: Head, recipe: PretrainRecipe, *, total_steps: int, curves: Curves) -> None:
        schedule = linear_decay(total_steps, recipe.warmup_steps)
        super().__init__(recipe, schedule=schedule, seed=recipe.seed, total_steps=total_steps, curves=curves)
        self.model, self.head = model, head
        self.tokens = 0

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch | list[MicroBatch]:
        self.tokens += int(batch.mask.sum())  # here the batch is whole, and in main memory
        return super().on_before_batch_transfer(batch, dataloader_idx)

    def prepared(self, batch: Batch) -> Batch:
        """A batch (B, L) with the places of its labels; on a CPU nothing is rounded up, as shapes cost nothing."""
        return self.head.prepared(batch, fixed_shapes=self.device.type != "cpu")

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The loss, of shape (), of a batch with labels (B, L)."""
        return (self.head.batch_loss(self.model, batch, self.recipe.logits),)

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """Number of labelled tokens of a batch (B, L)."""
        assert batch.labels is not None  # the loader always labels
        return (int((batch.labels != NO_LABEL).sum()),)


def pretrain(
    model: Model,
    head: Head,
    data: LoadedData,
    recipe: PretrainRecipe,
    *,
    total_steps: int,
    machine: Machine,
    stop_at: int | None = None,
    snapshots: Mapping[int, Mapping[Path, nn.Module]] | None = None,
) -> Pretrained:
    """Trains `model` in place and gives it back in evaluation mode with the curves of the training.

    `stop_at` and `snapshots`: as `fit` has them.
    """
    curves = Curves(total_steps, machine.watch)
    module = PretrainingModule(model, head, recipe, total_steps=total_steps, curves=curves)
    began = time.monotonic()
    trainer = fit(module, data, recipe, machine, epochs=recipe.max_epochs, stop_at=stop_at, snapshots=snapshots)
    speed = module.tokens / max(time.monotonic() - began, 1e-9)
    done = Pretrained(model.eval(), head.eval(), curves.points, trainer.global_step, speed)
    if not isinstance(data, PretrainingData) or machine.rank > 0:
        return done
    kind = pick_device(machine.device)
    device = torch.device(kind, machine.local_rank) if kind == "cuda" else torch.device(kind)
    facts = [MetricRow("tokens", data.tokens_read(done.steps)), *data.facts()]
    facts += held_out(model, head, data.held_out_batches(), step=done.steps, device=device)
    return replace(done, facts=tuple(facts))
