"""Curves of a training (loss and scores by step), which survive a resume and are sent to the live view."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hashbench.common.measured import MetricRow
from hashbench.running.training.machine import Watch

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
