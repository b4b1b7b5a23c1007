"""How many rows of a batch a device holds at a time, found by trying: one row, twice as many, and so on."""

from __future__ import annotations

from functools import partial

import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch
from hashbench.running.training.accumulation import MicroBatch, micro_batches, weighted
from hashbench.running.training.memory import SHARE, free_bytes, peak_bytes_of
from hashbench.running.training.module import RecipeModule

# Copies of the trained parameters that a step needs beside its gradients: AdamW's two moments.
MOMENTS = 2
SENT = 1  # one more where gradients are collected for other devices


def largest_micro_batch(
    module: RecipeModule, batch: Batch, device: torch.device, *, bf16: bool = False, devices: int = 1
) -> int:
    """Rows of `batch` (B, L) that fit at a time: all of them, or the largest of B/2, B/4, ... that does.

    `batch` holds the longest rows of a training, longest first. Weights and random states stay as they are. A size that
    is likely too large by those before it is not tried: a CPU would swap instead of refusing.
    Raises InputError where one row is too much.
    """
    limit = int(SHARE * free_bytes(device))
    module.to(device)
    copies = MOMENTS + (SENT if devices > 1 else 0)
    held = [torch.empty_like(p) for p in module.parameters() if p.requires_grad for _ in range(copies)]
    tried: list[tuple[int, int]] = []  # rows, and the bytes that they took
    peak: int | None = None
    module.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        for size in sizes(len(batch)):
            if _expected(tried, size) > limit:
                break
            part = micro_batches(batch, size, module.label_counts)[0]
            peak = peak_bytes_of(partial(_step, module, part, device, bf16), device)
            module.zero_grad()
            if peak is None or peak > limit:
                break
            tried.append((size, peak))
    del held
    if not tried:
        needed = "more" if peak is None else f"{peak / 1e9:.1f} GB"
        raise InputError(
            f"micro_batch_size: auto: one row of {batch.positions.shape[1]} tokens needs {needed}, and {device.type} "
            f"has {limit / 1e9:.1f} GB to give; write activation_checkpointing: true, shorter inputs, or another device"
        )
    return tried[-1][0]


def _expected(tried: list[tuple[int, int]], size: int) -> float:
    """Bytes that so many rows take if they grow as they did between the last two trials; 0 before there are two."""
    if len(tried) < 2:
        return 0.0
    (rows, peak), (more_rows, more_peak) = tried[-2:]
    return more_peak + (size - more_rows) * (more_peak - peak) / (more_rows - rows)


def sizes(rows: int) -> list[int]:
    """Rows, half of them, a quarter and so on to 1, rounded up, from the smallest.

    >>> sizes(12)
    [1, 2, 3, 6, 12]
    """
    found = [rows]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found[::-1]


def _step(module: RecipeModule, part: MicroBatch, device: torch.device, bf16: bool) -> None:
    """Forward and backward of some rows."""
    there = part.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        loss = weighted(module.loss_terms(there.batch), there.shares)
    loss.backward()
