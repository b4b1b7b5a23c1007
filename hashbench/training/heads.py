"""The heads of pre-training and their loss over a model's states."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from hashbench.embeddings.base import Batch
from hashbench.errors import InputError
from hashbench.objectives.mlm import MaskedLanguageHead, label_columns
from hashbench.objectives.shuffle_random import TokenHead
from hashbench.training.model import Model

Head = MaskedLanguageHead | TokenHead


def make_head(model: Model, objective: str) -> Head:
    """The head of an objective over this model's states; it is dropped after pre-training.

    Raises InputError where the objective scores a vocabulary and the embedding has no matrix to score against.
    """
    config = model.config
    if objective == "shuffle_random":
        return TokenHead(config.dim, config.dropout)
    matrix = model.embedding.output_matrix()
    if matrix is None:
        name = type(model.embedding).__name__
        raise InputError(f"objective mlm: {name} has no output matrix to score against; use objective shuffle_random")
    return MaskedLanguageHead(config.dim, matrix.shape[0], config.eps)


def objective_loss(model: Model, head: Head, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
    """Loss of a batch under its labels (B, L). States are made where the loss needs them."""
    assert batch.labels is not None  # the loader of a pre-training always labels
    if isinstance(head, TokenHead):
        return head.loss(model(batch), batch.labels)
    if logits == "all":
        return head.loss_everywhere(model(batch), batch.labels, _output_matrix(model))
    columns, labelled = label_columns(batch.labels)
    states = model.at(batch, columns, labelled)  # (n, d)
    return head.loss(states, batch.labels.gather(1, columns)[labelled], _output_matrix(model))


def _output_matrix(model: Model) -> Tensor:
    matrix = model.embedding.output_matrix()
    assert matrix is not None  # make_head has checked
    return matrix
