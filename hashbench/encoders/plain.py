"""The original Transformer's encoder over a set or a sequence of items (Vaswani et al. 2017; Superbloom, appendix A).

Post-LayerNorm layers with ReLU: x = dropout(LayerNorm(token)), then `layers` times x = LayerNorm(x +
dropout(Attention(x))), x = LayerNorm(x + dropout(W2 relu(W1 x))). Without positions it is a function of a set, as
Superbloom's entity models are; biases and the LayerNorm behind the embedding are BERT's (ours: the paper is silent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from hashbench.encoders.base import Architecture, Encoder
from hashbench.encoders.bert import SIZES as BERT_SIZES
from hashbench.encoders.bert import EncoderConfig, Layer
from hashbench.errors import InputError
from hashbench.layers import ACTIVATIONS, Dropout, init_weights


@dataclass(frozen=True)
class PlainConfig:
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
        self.of_layers()  # refuses impossible sizes
        if self.activation not in ACTIVATIONS:
            raise InputError(f"encoder: activation {self.activation!r}; choose from {', '.join(ACTIVATIONS)}")

    def of_layers(self) -> EncoderConfig:
        """The same shape as the layers take it."""
        return EncoderConfig(
            layers=self.layers,
            heads=self.heads,
            dim=self.dim,
            feed_forward=self.feed_forward,
            eps=self.eps,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
        )


SIZES = {
    name: PlainConfig(layers=size.layers, heads=size.heads, dim=size.dim, feed_forward=size.feed_forward)
    for name, size in BERT_SIZES.items()
}


class PlainLayer(Layer):
    """One post-LayerNorm transformer layer with the activation of the config."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__(config.of_layers())
        self.activation = ACTIVATIONS[config.activation]

    def feed(self, states: Tensor, attended: Tensor) -> Tensor:
        """All behind the attention, token by token: two tensors (..., d) -> (..., d)."""
        states = self.attention_norm(states + self.dropout(attended))
        return self.norm(states + self.dropout(self.down(self.activation(self.up(states)))))


class PlainEncoder(Encoder):
    """Token vectors to token states, whatever the order of the tokens."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(PlainLayer(config) for _ in range(config.layers))
        self.apply(init_weights)

    @property
    def max_length(self) -> None:
        """No limit: there are no positions."""
        return None

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on tokens or None without padding -> states (B, L, d)."""
        states, mask = self._before_layers(vectors, mask)
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def at(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None, columns: Tensor, valid: Tensor | None
    ) -> Tensor:
        """The states at some places alone (n, d): the last layer makes no other."""
        states, mask = self._before_layers(vectors, mask)
        for layer in self.layers[:-1]:
            states = layer(states, mask)
        return self.layers[-1].at(states, mask, columns, valid)  # type: ignore[operator]

    def _before_layers(self, vectors: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What enters the first layer (B, L, d), and the mask, None where nothing is padded."""
        if mask is not None and mask.device.type == "cpu" and bool(mask.all()):
            mask = None
        return self.dropout(self.norm(vectors)), mask


ARCHITECTURES = {"plain": Architecture(PlainEncoder, SIZES)}
