"""No encoder but the mean of word vectors, as fastText classifies (Joulin et al. 2017, section 2; one linear layer).

u = mean of the vectors of a text's ordinary tokens, without special tokens and padding; 0 where there are none
A pair is [u; v; |u - v|; u * v], its texts encoded apart (InferSent, Conneau et al. 2017, figure 1).

It is never pre-trained: there is no state of a token that an objective could score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from hashbench.models.embeddings.base import HeadSpec, ModelSpec
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.transformer import SHAPES


@dataclass(frozen=True)
class AverageConfig:
    """The width of the vectors, and the dropout before the linear layer, of which fastText has none."""

    dim: int
    dropout: float = 0.0
    # There are no layers: what an encoder's shape has besides is no value that an experiment could set.
    layers: ClassVar[int] = 0
    heads: ClassVar[int] = 0
    feed_forward: ClassVar[int] = 0
    eps: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_shape(self, "dim", shares=("dropout",))


class AverageEncoder(Encoder):
    """Token vectors to one vector a text, or one a pair."""

    config: AverageConfig
    keeps_length = False
    has_token_states = False
    reads_specials = False

    def __init__(self, config: AverageConfig) -> None:
        super().__init__()
        self.config = config

    @property
    def max_length(self) -> None:
        """None, since there is no limit."""
        return None

    def text_width(self, n_texts: int) -> int:
        """d for one text, 4 d for a pair."""
        return self.config.dim if n_texts == 1 else 4 * self.config.dim

    def states_mask(self, mask: Tensor) -> Tensor:
        """Mask of tokens (B, L) -> mask of the one state (B, 1), which is True."""
        return torch.ones_like(mask[:, :1])

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on ordinary tokens, segments (B, L) of pairs -> (B, 1, d) or (B, 1, 4 d).

        Without segments all of a row is one text.
        """
        counted = torch.ones_like(vectors[..., 0], dtype=torch.bool) if mask is None else mask
        parts = [counted] if segments is None else [counted & (segments == number) for number in (0, 1)]
        members = torch.stack(parts, dim=1)  # (B, texts, L)
        sums = members.to(vectors.dtype) @ vectors  # (B, texts, d)
        means = sums / members.sum(2, keepdim=True).clamp_min(1)
        if segments is None:
            return means
        return pair_vector(means[:, :1], means[:, 1:])


def pair_vector(first: Tensor, second: Tensor) -> Tensor:
    """[u; v; |u - v|; u * v] of the vectors of two texts (B, 1, d): (B, 1, 4 d)."""
    return torch.cat([first, second, (first - second).abs(), first * second], dim=-1)


def of_model(spec: ModelSpec) -> ModelSpec:
    """The model with one linear layer as its head, without an objective, and with segments that keep pairs apart."""
    return replace(
        spec,
        text=replace(spec.text, template=replace(spec.text.template, segments=True)),
        head=HeadSpec(pooling="mean", dense=False),
        training=replace(spec.training, objective=None, args={}),
    )


SIZES = {size: AverageConfig(shape["dim"]) for size, shape in SHAPES.items()}
SETTLED = {"pooling": "makes one vector a text", "objective": "is never pre-trained"}
ARCHITECTURES = {"average": Architecture(AverageEncoder, SIZES, of_model, SETTLED)}
