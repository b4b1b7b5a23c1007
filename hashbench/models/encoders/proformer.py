"""ProFormer's encoder (Sankar, Ravi and Kozareva 2021, sections 2.2 and 2.3): local projection attention, two layers.

x = dropout(LayerNorm(vector [+ position])); K neighbours become one vector by attention among them and a maximum
(local projection attention, eq. 1, figure 2); then post-LayerNorm transformer layers as BERT's over L / K vectors.

Chosen here, where the paper is silent: the embedding LayerNorm; in a group 12-head attention, residual, LayerNorm and
no feed-forward; no positions, since only without them the published counts come out. With the paper's text the
intermediate size is 768, with its count of 14.4 M it is BERT's 3,072, as here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.transformer import (
    SHAPES,
    SelfAttention,
    TransformerConfig,
    TransformerEncoder,
    without_padding,
)
from hashbench.models.layers import Dropout, dropped_sum_norm


@dataclass(frozen=True)
class ProformerConfig(TransformerConfig):
    """The shape of the encoder. Defaults: BERT's values, no positions, K = 1."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    # K, neighbours that become one vector; 1 is the null operation.
    group: int = 1
    max_positions: int = 0  # learned positions; 0: none, and no longest input
    eps: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self, "group", counts=("max_positions",))
        if self.max_positions % self.group:
            positions = f"max_positions {self.max_positions}"
            raise InputError(f"encoder: {positions} is no multiple of group {self.group}; choose one that is")


# Two layers at every size, as the paper has them beside BERT's twelve; widths are as in BERT's sizes.
SIZES = {size: ProformerConfig(**shape | {"layers": 2}) for size, shape in SHAPES.items()}


class LocalProjectionAttention(SelfAttention):
    """Eq. 1: attention among K neighbours, then the maximum over them, element by element."""

    def __init__(self, config: ProformerConfig) -> None:
        super().__init__(config)
        self.group = config.group
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, L, d), mask (B, L) or None, L a multiple of K -> (B, L / K, d); a group of padding gives 0."""
        batch, length, dim = states.shape
        groups = states.reshape(-1, self.group, dim)  # (B L / K, K, d)
        inside = None if mask is None else mask.reshape(-1, self.group)  # (B L / K, K)
        # A group without any word would be a softmax over nothing: it attends to its padding, and is dropped below.
        allowed = None if inside is None else inside | ~inside.any(1, keepdim=True)
        groups = dropped_sum_norm(groups, self.attend(groups, allowed), self.norm, self.dropout)
        if inside is not None and allowed is not None:
            groups = groups.masked_fill(~allowed[..., None], -torch.inf)
        pooled = groups.amax(1)  # (B L / K, d)
        if inside is not None:
            pooled = pooled * inside.any(1, keepdim=True)
        return pooled.view(batch, length // self.group, dim)


class ProformerEncoder(TransformerEncoder):
    """Word vectors to states of groups of K words. An input without a word counts as one word of zeros."""

    config: ProformerConfig
    local: LocalProjectionAttention | None  # None where K is 1
    unit = "words"
    # All states are made, since dropout draws its masks for all states.
    at = Encoder.at

    def parts_before_layers(self) -> dict[str, nn.Module | None]:
        """The attention among K neighbours; none where K is 1."""
        return {"local": LocalProjectionAttention(self.config) if self.config.group > 1 else None}

    @property
    def length_multiple(self) -> int:
        """K, the number of neighbours that become one vector."""
        return self.config.group

    def before_layers(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Groups that enter the first layer (B, ceil(L / K), d), and their mask, None where none is padded.

        L is filled up to a multiple of K here, so that no batch needs to know it. There are no segments.
        """
        missing = -vectors.shape[1] % self.config.group
        if mask is None and missing:
            mask = vectors.new_ones(vectors.shape[:2], dtype=torch.bool)
        if mask is not None:
            mask = nn.functional.pad(with_a_word(mask), (0, missing))  # (B, L)
        states = self.enter(nn.functional.pad(vectors, (0, 0, 0, missing)), None)  # (B, L, d)
        mask = without_padding(mask)
        if self.local is not None:
            states = self.local(states, mask)  # (B, L / K, d)
            mask = None if mask is None else grouped(mask, self.config.group)
        return states, mask

    def states_mask(self, mask: Tensor) -> Tensor:
        """Mask of words (B, L) -> mask of groups (B, ceil(L / K)), True on groups with a word."""
        missing = -mask.shape[1] % self.config.group
        return grouped(nn.functional.pad(with_a_word(mask), (0, missing)), self.config.group)


def with_a_word(mask: Tensor) -> Tensor:
    """The mask (B, L) with the first column True in rows without a word, since no maximum is over nothing."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0  # (L,)
    return mask | (first & ~mask.any(1, keepdim=True))


def grouped(mask: Tensor, group: int) -> Tensor:
    """Mask of words (B, L) -> mask of groups (B, L / K), True where any of K neighbours is a word."""
    return mask.view(mask.shape[0], -1, group).any(2)


ARCHITECTURES = {"proformer": Architecture(ProformerEncoder, SIZES)}
