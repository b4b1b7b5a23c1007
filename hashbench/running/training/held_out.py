"""A finished pre-training on rows that it never trained on: its loss, and how well it separates their tokens."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from hashbench.common.measured import HELD_OUT, SEPARATION, MetricRow
from hashbench.common.progress import progress
from hashbench.models.embeddings.base import NO_LABEL, Batch
from hashbench.models.objectives.base import Head
from hashbench.running.training.model import Model


@torch.inference_mode()
def held_out(model: Model, head: Head, batches: Iterable[Batch], *, step: int, device: torch.device) -> list[MetricRow]:
    """The mean loss over the labels of batches (B, L), and how well their tokens are separated; [] for no batches.

    The latter is the area under the ROC curve: how often, of a token that should score higher and one that should not,
    the former does; 0.5 by chance. Both are computed in float32, without dropout.
    """
    model.eval().to(device)
    head.eval().to(device)
    losses, labels = [], []
    scores: list[np.ndarray] = []
    positive: list[np.ndarray] = []
    for unmoved in batches:
        progress("loss on held-out rows")
        batch = unmoved.to(device)
        assert batch.labels is not None  # the loader of a pre-training always labels
        losses.append(float(head.batch_loss(model, batch, "labels")))
        labels.append(int(batch.labels.ne(NO_LABEL).sum()))
        if (pair := head.separation(model, batch)) is not None:
            scores.append(pair[0].float().cpu().numpy())
            positive.append(pair[1].cpu().numpy())
    if not sum(labels):
        return []
    rows = [MetricRow("loss", float(np.average(losses, weights=labels)), HELD_OUT, step)]
    if scores:
        rows.append(MetricRow(SEPARATION, area(np.concatenate(scores), np.concatenate(positive)), HELD_OUT, step))
    return rows


def area(scores: np.ndarray, positive: np.ndarray) -> float:
    """The area under the ROC curve of scores (n,) for the positive ones (n,) bool; NaN where all are of one kind.

    >>> area(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, True, False, True]))
    0.875
    """
    from scipy.stats import rankdata

    n = int(positive.sum())
    if n in (0, len(positive)):
        return float("nan")
    above = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(above / (n * (len(positive) - n)))
