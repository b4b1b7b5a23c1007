"""Seeded noise in training texts: a perturbation, drawn anew for each row in each epoch, the same for every model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from hashbench.common.registry import registered
from hashbench.common.splitmix import random_bits
from hashbench.data.perturbations.base import perturbed
from hashbench.data.tasks.blocks import NameOf, Strict

ROW = 51  # stream of random numbers


def _kinds() -> list[str]:
    return [name for name, kind in registered("perturbation").items() if not kind.needs_corpus]


class TrainingNoise(Strict):
    """Noise in the texts of the training rows of a task, of no other rows."""

    kind: Annotated[str, NameOf(_kinds)] = Field(
        description="a perturbation of robustness; distortion is that of PRADO and pQRNN"
    )
    rate: float = Field(gt=0, le=1, description="share of the words of a text that are changed")


def noisy(
    columns: Sequence[Sequence[str]], rows: np.ndarray, noise: TrainingNoise, *, seed: int, epoch: int
) -> list[list[str]]:
    """The texts of some rows (B,) of each column with noise, a function of seed, epoch and row."""
    keys = random_bits(seed, epoch, rows, 1, ROW)[:, 0].tolist()
    return [
        [perturbed(column[row], noise.kind, (noise.rate,), seed=key)[0] for row, key in zip(rows, keys, strict=True)]
        for column in columns
    ]
