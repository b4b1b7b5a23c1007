"""What fine-tunings started from that was not pre-trained here: published weights, or none at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SCRATCH = "from scratch"  # how a table marks random weights in the place of published ones
SHORT = 8  # letters of a fingerprint


def published_weights(spec: dict[str, Any]) -> Any:
    """{"sha256": ...} of a run's spec, "random" for none in their place, or None: the model has no published ones."""
    model = spec["model"] if "model" in spec else {}
    return model["weights"] if "weights" in model else None


def from_scratch(spec: dict[str, Any]) -> bool:
    """Whether a run started from random weights although its model has published ones."""
    return published_weights(spec) == "random"


def starts(runs: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """What to say of the starts of fine-tunings (model, spec) without a pre-training, models of one start together."""
    found: dict[str, list[str]] = {}
    for model, spec in runs:
        weights = published_weights(spec)
        if from_scratch(spec):
            words = f"none for {{}} (random weights: {SCRATCH})"
        elif weights is not None:
            name = spec["settings"]["weights"]
            words = f"published weights {name} (sha256 {weights['sha256'][:SHORT]}) for {{}}"
        else:
            words = "none for {}"
        models = found.setdefault(words, [])
        if model not in models:
            models.append(model)
    return [words.format(", ".join(sorted(models))) for words, models in found.items()]


def scratch_warning(runs: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """The line that must be said loudly of models from scratch; none where there is no such model."""
    models = sorted({model for model, spec in runs if from_scratch(spec)})
    if not models:
        return []
    return [f"FROM SCRATCH: {', '.join(models)}: random weights, trained on the task alone; not the published model."]
