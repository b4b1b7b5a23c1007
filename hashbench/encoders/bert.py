"""BERT's encoder with RoBERTa's positions (Devlin et al. 2019; Liu et al. 2019), tiny to base: exact GELU."""

from __future__ import annotations

from dataclasses import dataclass

from hashbench.encoders.base import Architecture
from hashbench.encoders.transformer import SHAPES, TransformerConfig, TransformerEncoder
from hashbench.errors import InputError


@dataclass(frozen=True)
class BertConfig(TransformerConfig):
    """The shape of the encoder. Defaults are RoBERTa's: 514 positions, the first two never used, one segment row."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    max_positions: int = 514
    type_rows: int = 1
    eps: float = 1e-5
    first_position: int = 2  # RoBERTa counts positions from its padding row + 1
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.max_positions, self.type_rows) < 1:
            raise InputError("encoder: every size must be at least 1; correct the encoder's values")


class BertEncoder(TransformerEncoder):
    """Token vectors to token states."""


SIZES = {size: BertConfig(**shape) for size, shape in SHAPES.items()}
ARCHITECTURES = {"bert": Architecture(BertEncoder, SIZES)}
