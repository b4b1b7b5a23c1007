"""Random CANINE models of `transformers`, to compare with and to save as published weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from hashbench.models.embeddings.base import Published

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "num_hash_buckets": 512, "local_transformer_stride": 16,
}  # fmt: skip
TINY = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}  # ours
BASE_SHAPED = {"num_hidden_layers": 1, "num_hash_buckets": 1024}  # all else is google/canine-c's


def classifier(n_labels: int = 2, *, seed: int = 0, **shape: Any) -> nn.Module:
    """CanineForSequenceClassification in evaluation mode; biases and LayerNorms are drawn too, so that errors show.

    Its position table has `num_hash_buckets` rows, whatever else is asked for.
    """
    from transformers import CanineConfig, CanineForSequenceClassification

    torch.manual_seed(seed)
    dim = CanineConfig(**shape).hidden_size
    spread = 0.55 / dim**0.5  # 0.02 at 768, as published; the same effect at other widths
    config = CanineConfig(num_labels=n_labels, initializer_range=spread, **shape)
    model = CanineForSequenceClassification(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "LayerNorm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def published(model: nn.Module) -> Published:
    """What a folder with these weights would be read as."""
    tensors = {name.removeprefix("canine."): tensor for name, tensor in model.state_dict().items()}
    config: dict[str, Any] = model.config.to_dict()  # type: ignore[operator, union-attr, assignment]
    return Published(tensors, config, "weights test")


def saved(folder: Path, **shape: Any) -> Path:
    """A folder as `save_pretrained` leaves it."""
    classifier(**shape).save_pretrained(folder)  # type: ignore[operator]
    return folder
