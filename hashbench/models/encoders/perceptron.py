"""The two hidden layers of SGNN (Ravi and Kozareva 2018): sigmoid and dropout, each vector by itself.

Sizes and activation are those of the public re-implementation glicerico/SGNN, as ProFormer's paper names none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.layers import Dropout


@dataclass(frozen=True)
class PerceptronConfig:
    """The shape of the hidden layers. The map to the first of them is the embedding's."""

    layers: int = 2
    dim: int = 256  # units of every hidden layer
    dropout: float = 0.25
    eps: float = 1e-12  # of the LayerNorm in the head of a pre-training; the encoder has none
    # There is no attention and no feed-forward: these are no values that an experiment could set.
    heads: ClassVar[int] = 0
    feed_forward: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_shape(self, "layers", "dim", shares=("dropout",))


class PerceptronEncoder(Encoder):
    """An encoder that maps each vector by itself to the last hidden layer's units."""

    def __init__(self, config: PerceptronConfig) -> None:
        super().__init__()
        self.config = config
        layers = [nn.Linear(config.dim, config.dim) for _ in range(config.layers - 1)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.hidden = nn.ModuleList(layers)
        self.dropout = Dropout(config.dropout)

    @property
    def max_length(self) -> None:
        """None, since there is no limit."""
        return None

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors before the first activation (B, L, d) -> (B, L, d). Nothing is mixed, so no mask is needed."""
        states = torch.sigmoid(vectors)
        for layer in self.hidden:
            states = torch.sigmoid(layer(self.dropout(states)))
        return states


# One size for all.
SIZES = dict.fromkeys(("tiny", "mini", "small", "medium", "base"), PerceptronConfig())
ARCHITECTURES = {"perceptron": Architecture(PerceptronEncoder, SIZES)}
