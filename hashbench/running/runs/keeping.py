"""Which fine-tunings keep their best weights, and how many bytes weights take: from shapes, before any training."""

from __future__ import annotations

from hashbench.running.efficiency.parameters import outline_of
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.schema import LARGEST_KEPT, Experiment

BYTES = 4  # of a weight in float32


def weight_bytes(model: ResolvedModel, size: str) -> int:
    """Bytes of embedding, encoder and a head of two classes. A vocabulary that is learned has all rows it may have."""
    return BYTES * outline_of(model, size, n_classes=2).weights


def keeps_best(experiment: Experiment, model: ResolvedModel) -> bool:
    """Whether the fine-tunings of a model keep their best weights."""
    if experiment.keep_weights == "auto":
        return weight_bytes(model, experiment.encoder) <= LARGEST_KEPT
    return experiment.keep_weights == "best"
