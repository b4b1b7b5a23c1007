"""Evaluations of a fine-tuning: which one counts, what it scores, how it survives a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.running.training.curves import Curves
from hashbench.scores.registry import evaluate

# split -> outputs of the head in the order of the rows (n, n_outputs) float32
OutputsBySplit = dict[str, np.ndarray]


@dataclass
class Evaluation:
    """The outputs of one evaluation and the score by which it is chosen."""

    step: int
    selection: float | None
    outputs: OutputsBySplit
    weights: dict[str, Tensor] | None = None


@dataclass
class Progress:
    """Where a fine-tuning stands between two evaluations; part of the checkpoint."""

    best: Evaluation | None = None
    last: Evaluation | None = None
    without_gain: int = 0

    def add(self, evaluation: Evaluation) -> bool:
        """Takes an evaluation in and says whether it is the best so far: ties go to the later one (released code)."""
        self.last = evaluation
        ahead = self.best is None or _at_least(evaluation.selection, self.best.selection)
        gained = self.best is None or _above(evaluation.selection, self.best.selection)
        self.without_gain = 0 if gained else self.without_gain + 1
        if ahead:
            self.best = evaluation
        return ahead


def _at_least(new: float | None, old: float | None) -> bool:
    return old is None or (new is not None and new >= old)


def _above(new: float | None, old: float | None) -> bool:
    return new is not None and (old is None or new > old)


def as_plain(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """An evaluation as tensors and plain values, which is all that a checkpoint may hold."""
    if evaluation is None:
        return None
    outputs = {split: torch.from_numpy(values) for split, values in evaluation.outputs.items()}
    return {**vars(evaluation), "outputs": outputs}


def from_plain(plain: dict[str, Any] | None) -> Evaluation | None:
    """The evaluation that `as_plain` wrote down."""
    if plain is None:
        return None
    return Evaluation(**{**plain, "outputs": {split: values.numpy() for split, values in plain["outputs"].items()}})


def score_splits(
    data: FinetuningData, outputs: Mapping[str, np.ndarray], curves: Curves, step: int, select_metric: str | None
) -> float | None:
    """Adds every metric of the task on every split to the curves; gives back the score that selects.

    `outputs` (n, n_outputs) of each split, in the order of its rows.
    The selecting score is taken over all selection splits laid together (MNLI: matched and mismatched). None where
    it is undefined, as Pearson's is for constant outputs.
    """
    task = data.data.task
    for split, values in outputs.items():
        for name, score in evaluate(task.metrics, data.targets(split), values).items():
            curves.add(split, name, step, score.value, score.reason)
    metric = select_metric or task.select_metric
    together = evaluate(
        (metric,),
        np.concatenate([data.targets(split) for split in outputs]),
        np.concatenate([outputs[split] for split in outputs]),
    )
    return together[metric].value
