"""The loss of a batch by CUDA graphs: kernels of forward and backward pass are recorded once per shape and replayed.

A small model's step is limited by the time in which a program starts its kernels; a graph starts all of them at once.
Batches have few shapes here: lengths and numbers of types are rounded up before a batch is sent. A shape is recorded
when it has come a few times; others, and those beyond a limit, are computed as usual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError, first_line
from hashbench.models.embeddings.base import Batch
from hashbench.models.layers import rounded_up
from hashbench.models.objectives.base import States, TaskHead

LENGTH_STEP = 16  # lengths are multiples of it
SEEN_BEFORE = 2  # times that a shape comes before it is recorded
MOST_GRAPHS = 64  # of a training; each keeps its activations
Loss = Callable[..., Tensor]  # of a batch's tensors, in the order of its fields


def few_shapes(batch: Batch, longest: int | None) -> Batch:
    """The batch (B, L) with a length and a number of types that are rounded up; its loss and gradients are the same.

    Padding is put behind every row, up to `longest` tokens (None: no limit); the last type is repeated, and no position
    points to the copies.
    """
    length = batch.positions.shape[1]
    wanted = -(-length // LENGTH_STEP) * LENGTH_STEP
    wider = max(0, (wanted if longest is None else min(wanted, longest)) - length)
    more_types = rounded_up(len(batch.codes)) - len(batch.codes)
    segments = None if batch.segments is None else nn.functional.pad(batch.segments, (0, wider))
    return replace(
        batch,
        codes=torch.cat([batch.codes, batch.codes[-1:].expand(more_types, -1)]),
        positions=nn.functional.pad(batch.positions, (0, wider)),  # of a special token, hidden by the mask
        mask=nn.functional.pad(batch.mask, (0, wider)),
        segments=segments,
        padded=True,
    )


class BatchLoss(nn.Module):
    """The loss of batches of one shape, as a module whose inputs are the batch's tensors, to be recorded."""

    def __init__(self, model: nn.Module, head: TaskHead, like: Batch) -> None:
        """`like`: a batch (B, L) with the tensors that all have, and with what is no tensor."""
        super().__init__()
        self.model, self.head = model, head
        self._like, self._names = like, list(tensors_of(like))

    def forward(self, *tensors: Tensor) -> Tensor:
        """The loss, of shape (), of a batch with these tensors (n, ...)."""
        batch = replace(self._like, **dict(zip(self._names, tensors, strict=True)))  # type: ignore[arg-type]
        return self.head.batch_loss(cast(States, self.model), batch)


def recorded(loss: BatchLoss, tensors: tuple[Tensor, ...]) -> Loss:
    """A CUDA graph of a loss and its backward pass for tensors (n, ...) of these shapes, to be called with others.

    Raises InputError where a part of the model cannot be recorded, as one that waits for the device.
    """
    cached = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)  # casts of weights must be in the graph: weights change
    try:
        graph: Loss = torch.cuda.make_graphed_callables(loss, tensors, allow_unused_input=True)  # type: ignore[assignment]
    except RuntimeError as error:
        raise InputError(
            f"finetune.graphs: the step of this model cannot be recorded: {first_line(error)}; write graphs: false"
        ) from error
    finally:
        torch.set_autocast_cache_enabled(cached)
    return graph


class Graphs:
    """The graphs of a training, by the shapes of its batches."""

    def __init__(self, record: Callable[[BatchLoss, tuple[Tensor, ...]], Loss] = recorded) -> None:
        self._record = record
        self._seen: Counter[object] = Counter()
        self.by_shape: dict[object, Loss] = {}

    def loss(self, model: nn.Module, head: TaskHead, batch: Batch) -> Tensor:
        """The loss, of shape (), of a batch on the device."""
        named = tensors_of(batch)
        shape = (batch.padded, *((name, value.shape, value.dtype) for name, value in named.items()))
        if shape not in self.by_shape:
            self._seen[shape] += 1
            if self._seen[shape] <= SEEN_BEFORE or len(self.by_shape) >= MOST_GRAPHS:
                return head.batch_loss(cast(States, model), batch)
            self.by_shape[shape] = self._record(BatchLoss(model, head, batch), tuple(named.values()))
        # A copy, as the next replay of this graph overwrites its output
        return self.by_shape[shape](*named.values()).clone()


def tensors_of(batch: Batch) -> dict[str, Tensor]:
    """The tensors (n, ...) of a batch by field."""
    return {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}
