"""The heads of pre-training and their loss over a model's states."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from hashbench.models.embeddings.base import Batch
from hashbench.models.objectives.base import Head
from hashbench.models.objectives.registry import objectives
from hashbench.running.training.model import Model


def make_head(model: Model, objective: str) -> Head:
    """The head of an objective over this model's states; it is dropped after pre-training.

    Raises InputError where the objective scores a vocabulary and the embedding has no matrix to score against.
    """
    head = objectives()[objective].head
    assert head is not None  # models of items have a driver of their own
    return head(model.embedding, model.config)


def objective_loss(model: Model, head: Head, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
    """Loss of a batch under its labels (B, L). States are made where the loss needs them."""
    return head.batch_loss(model, batch, logits)
