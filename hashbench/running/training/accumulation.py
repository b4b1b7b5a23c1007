"""Batches computed a few rows at a time, one after the other or on several devices.

Parts are weighted so that the gradients equal the whole batch's.

A term of a loss is a mean over labels, and parts of a batch have unequal numbers of labels. So a part's mean is
weighted by its share of the batch's labels; the mean of the parts' means would be another loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hashbench.models.embeddings.base import Batch

# Labels of a batch that each term of a loss is the mean over.
LabelCounts = Callable[[Batch], tuple[int, ...]]


@dataclass(frozen=True)
class MicroBatch:
    """Some rows of a batch, and their share of its labels for each term of the loss."""

    batch: Batch
    shares: tuple[float, ...]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> MicroBatch:
        """These rows on another device."""
        return replace(self, batch=self.batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> MicroBatch:
        """These rows in page-locked memory, from which a GPU copies while the program goes on."""
        return replace(self, batch=self.batch.pin_memory())


def micro_batches(
    batch: Batch, size: int | None, counts: LabelCounts, *, rank: int = 0, world_size: int = 1
) -> list[MicroBatch]:
    """A batch on the CPU in parts of `size` rows (None: one part), the last perhaps smaller.

    For each term of the loss the parts' shares of the labels sum to 1.

    With several processes each takes every `world_size`-th row of the same batch. The shares of all processes sum to
    their number, because gradients are averaged over processes. A process with fewer parts than another, or without
    rows, computes some for nothing: layers that are shared out over devices are computed by all processes at once.
    """
    totals = counts(batch)
    idle = rank >= len(batch)
    own = batch if world_size == 1 else some_rows(batch, slice(1) if idle else slice(rank, None, world_size))
    parts = [own]
    if size is not None:
        parts = [some_rows(own, slice(start, start + size)) for start in range(0, len(own), size)]
    weight = 0 if idle else world_size
    shared = [
        MicroBatch(part, tuple(weight * n / max(1, total) for n, total in zip(counts(part), totals, strict=True)))
        for part in parts
    ]
    most = 1 if size is None else -(-len(batch) // (world_size * size))  # parts of the process with the most rows
    spare = MicroBatch(parts[0], tuple(0.0 for _ in totals))
    return [spare] * (most - len(shared)) + shared


def some_rows(batch: Batch, rows: slice) -> Batch:
    """Some rows of a batch (B, L) -> (S, L), with the codes of the types that these rows have."""
    # Each type of a batch occurs in it, so the largest position belongs to the last type.
    specials = int(batch.positions.max()) + 1 - len(batch.codes)
    positions, mask = batch.positions[rows], batch.mask[rows]
    used, places = positions.unique(return_inverse=True)  # (s,), (S, L)
    types = used[used >= specials] - specials
    moved = places + specials - (len(used) - len(types))
    kept = {
        name: tensor[rows]
        for name in ("segments", "labels", "row_ids", "places", "follows")
        if isinstance(tensor := getattr(batch, name), Tensor)
    }
    return replace(
        batch,
        codes=batch.codes[types],
        positions=torch.where(positions < specials, positions, moved),
        mask=mask,
        padded=not bool(mask.all()),
        columns=None,
        kept=None,
        n_kept=0,
        **kept,
    )


def weighted(terms: tuple[Tensor, ...], shares: tuple[float, ...]) -> Tensor:
    """The contribution, of shape (), of some rows to the loss of their batch: the sum of their terms times `shares`."""
    return added(tuple(term * share for term, share in zip(terms, shares, strict=True)))


def added(terms: tuple[Tensor, ...]) -> Tensor:
    """The sum of the terms of a loss, each of shape ()."""
    return sum(terms[1:], start=terms[0])
