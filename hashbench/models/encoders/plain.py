"""The original Transformer's encoder over a set or a sequence of items (Vaswani et al. 2017; Superbloom, appendix A).

ReLU, no segments and no positions: it is a function of a set, as Superbloom's entity models are. Biases and the
LayerNorm behind the embedding are BERT's (chosen here: the paper is silent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Architecture
from hashbench.models.encoders.transformer import SHAPES, TransformerConfig, TransformerEncoder
from hashbench.models.layers import ACTIVATIONS


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


SIZES = {size: PlainConfig(**shape) for size, shape in SHAPES.items()}
ARCHITECTURES = {"plain": Architecture(PlainEncoder, SIZES)}
