"""Small encoders: the mean of word vectors, hidden layers of each vector by itself, and a Transformer of a set.

`average`: no encoder but the mean of word vectors, as fastText classifies (Joulin et al. 2017, section 2; one linear
layer).

u = mean of the vectors of a text's ordinary tokens, without special tokens and padding; 0 where there are none
A pair is [u; v; |u - v|; u * v], its texts encoded apart (InferSent, Conneau et al. 2017, figure 1).

It is never pre-trained: there is no state of a token that an objective could score.

`perceptron`: the two hidden layers of SGNN (Ravi and Kozareva 2018): sigmoid and dropout, each vector by itself.

Sizes and activation are taken from the public re-implementation glicerico/SGNN, as ProFormer's paper names none.

`plain`: the encoder of the original Transformer over a set of items (Vaswani et al. 2017; Superbloom, appendix A).

ReLU, no segments and no positions: it is a function of a set, as Superbloom's entity models are. Biases and the
LayerNorm behind the embedding are BERT's (chosen here: the paper is silent).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import HeadSpec, ModelSpec
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.transformer import SHAPES, TransformerConfig, TransformerEncoder
from hashbench.models.layers import ACTIVATIONS, Dropout


@dataclass(frozen=True)
class AverageConfig:
    """The width of the vectors, and the dropout before the linear layer (none in fastText)."""

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


@dataclass(frozen=True)
class PerceptronConfig:
    """The shape of the hidden layers. The map to the first layer is the embedding's."""

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


@dataclass(frozen=True)
class PlainConfig(TransformerConfig):
    """The shape of a plain encoder."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    activation: Literal["relu", "gelu"] = "relu"
    eps: float = 1e-12  # BERT's
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation not in ACTIVATIONS:
            raise InputError(f"encoder: activation {self.activation!r}; choose from {', '.join(ACTIVATIONS)}")


class PlainEncoder(TransformerEncoder):
    """Token vectors to token states, whatever the order of the tokens."""


SETTLED = {"pooling": "makes one vector a text", "objective": "is never pre-trained"}
ARCHITECTURES = {
    "average": Architecture(
        AverageEncoder, {size: AverageConfig(shape["dim"]) for size, shape in SHAPES.items()}, of_model, SETTLED
    ),
    "perceptron": Architecture(PerceptronEncoder, dict.fromkeys(SHAPES, PerceptronConfig())),  # one size for all
    "plain": Architecture(PlainEncoder, {size: PlainConfig(**shape) for size, shape in SHAPES.items()}),
}
