"""A model: an embedding of a batch's types, and an encoder over their vectors."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hashbench.embeddings.base import Batch, Embedding, ModelSpec
from hashbench.embeddings.registry import build_embedding
from hashbench.encoders.bert import BertEncoder, EncoderConfig
from hashbench.encoders.registry import make_encoder


class Model(nn.Module):
    """Token vectors into token states; heads stand outside."""

    def __init__(self, embedding: Embedding, encoder: BertEncoder) -> None:
        super().__init__()
        self.config: EncoderConfig = encoder.config
        self.embedding = embedding
        self.encoder = encoder

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token states (B, L m, d)."""
        mask = batch.mask if batch.padded else None  # without one a GPU takes its fastest attention
        if mask is not None and self.embedding.tokens_per_item > 1:
            mask = mask.repeat_interleave(self.embedding.tokens_per_item, dim=1)  # (B, L m)
        states: Tensor = self.encoder(self.embedding(batch), mask, batch.segments)  # (B, L m, d)
        return states


def build_model(spec: ModelSpec, size: str, *, seed: int, vocabulary_rows: int | None = None) -> Model:
    """The model of a spec with freshly drawn weights, which depend on `seed` alone.

    `vocabulary_rows` is the size of the table where the coder numbers a vocabulary found in the data (specials
    included); None keeps the spec's own number.
    """
    torch.manual_seed(seed)
    encoder = make_encoder(spec.encoder, size, **spec.encoder_args)
    return Model(build_embedding(spec, encoder.config.dim, vocabulary_rows=vocabulary_rows), encoder)


def save_weights(module: nn.Module, path: Path) -> None:
    """Writes a module's weights as safetensors, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}.part")
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}, half)
    half.replace(path)


def load_weights(module: nn.Module, path: Path) -> None:
    """Reads weights that `save_weights` wrote; a missing or foreign tensor is an error."""
    module.load_state_dict(load_file(path))
