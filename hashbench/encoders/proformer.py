"""ProFormer's encoder (Sankar, Ravi and Kozareva 2021, sections 2.2 and 2.3): local projection attention, two layers.

x = dropout(LayerNorm(vector [+ position])); K neighbours become one vector by attention among them and a maximum
(local projection attention, eq. 1, figure 2); then post-LayerNorm transformer layers as BERT's over L / K vectors.

Ours, where the paper is silent: the embedding LayerNorm; in a group 12-head attention, residual, LayerNorm and no
feed-forward; no positions, since only without them the published counts come out. With the paper's text the
intermediate size is 768, with its count of 14.4 M it is BERT's 3,072, which stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hashbench.encoders.attention import attention
from hashbench.encoders.base import Architecture, Encoder
from hashbench.encoders.bert import EncoderConfig, Layer
from hashbench.errors import InputError
from hashbench.layers import Dropout, init_weights


@dataclass(frozen=True)
class ProformerConfig:
    """The shape of the encoder. Defaults: BERT's values, no positions, K = 1."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    group: int = 1  # K, neighbours that become one vector; 1 is the null operation
    max_positions: int = 0  # learned positions; 0: none, and no longest input
    eps: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        self.layer()  # refuses what BERT's layers refuse
        for name, value, least in (("group", self.group, 1), ("max_positions", self.max_positions, 0)):
            if not isinstance(value, int) or value < least:
                raise InputError(f"encoder: {name} {value!r} is no whole number from {least} on; correct it")
        if self.max_positions % self.group:
            positions = f"max_positions {self.max_positions}"
            raise InputError(f"encoder: {positions} is no multiple of group {self.group}; choose one that is")

    def layer(self) -> EncoderConfig:
        """The same shape for a transformer layer."""
        return EncoderConfig(
            layers=self.layers,
            heads=self.heads,
            dim=self.dim,
            feed_forward=self.feed_forward,
            eps=self.eps,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
        )


# Two layers at every size, as the paper has them beside BERT's twelve; widths are those of BERT's sizes.
SIZES: dict[str, ProformerConfig] = {
    "tiny": ProformerConfig(layers=2, heads=2, dim=128, feed_forward=512),
    "mini": ProformerConfig(layers=2, heads=4, dim=256, feed_forward=1024),
    "small": ProformerConfig(layers=2, heads=8, dim=512, feed_forward=2048),
    "medium": ProformerConfig(layers=2, heads=8, dim=512, feed_forward=2048),
    "base": ProformerConfig(layers=2, heads=12, dim=768, feed_forward=3072),
}


class LocalProjectionAttention(nn.Module):
    """Eq. 1: attention among K neighbours, then the maximum over them, element by element."""

    def __init__(self, config: ProformerConfig) -> None:
        super().__init__()
        self.group, self.heads, self.attention_dropout = config.group, config.heads, config.attention_dropout
        self.qkv = nn.Linear(config.dim, 3 * config.dim)
        self.attention_out = nn.Linear(config.dim, config.dim)
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)

    def attend(self, groups: Tensor, allowed: Tensor | None) -> Tensor:
        """Multi-head self-attention inside each group: (g, K, d) -> (g, K, d)."""
        n, size, dim = groups.shape
        query, key, value = self.qkv(groups).view(n, size, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (g, H, K, h)
        out = attention(query, key, value, allowed, self.attention_dropout if self.training else 0.0)
        attended: Tensor = self.attention_out(out.transpose(1, 2).reshape(n, size, dim))
        return attended

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, L, d), mask (B, L) or None, L a multiple of K -> (B, L / K, d); a group of padding gives 0."""
        batch, length, dim = states.shape
        groups = states.reshape(-1, self.group, dim)  # (B L / K, K, d)
        inside = None if mask is None else mask.reshape(-1, self.group)  # (B L / K, K)
        # A group without any word would be a softmax over nothing: it attends to its padding, and is dropped below.
        allowed = None if inside is None else inside | ~inside.any(1, keepdim=True)
        groups = self.norm(groups + self.dropout(self.attend(groups, allowed)))
        if inside is not None and allowed is not None:
            groups = groups.masked_fill(~allowed[..., None], -torch.inf)
        pooled = groups.amax(1)  # (B L / K, d)
        if inside is not None:
            pooled = pooled * inside.any(1, keepdim=True)
        return pooled.view(batch, length // self.group, dim)


class ProformerEncoder(Encoder):
    """Word vectors to states of groups of K words. An input without a word counts as one word of zeros."""

    def __init__(self, config: ProformerConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = nn.Embedding(config.max_positions, config.dim) if config.max_positions else None
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        self.local = LocalProjectionAttention(config) if config.group > 1 else None
        self.layers = nn.ModuleList(Layer(config.layer()) for _ in range(config.layers))
        self.apply(init_weights)

    @property
    def max_length(self) -> int | None:
        """The positions there are; None where there are none."""
        return self.config.max_positions or None

    @property
    def length_multiple(self) -> int:
        """K."""
        return self.config.group

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on words or None without padding -> states (B, ceil(L / K), d).

        L is filled up to a multiple of K here, so that no batch needs to know it. There are no segments.
        """
        missing = -vectors.shape[1] % self.config.group
        if mask is None and missing:
            mask = vectors.new_ones(vectors.shape[:2], dtype=torch.bool)
        if mask is not None:
            mask = nn.functional.pad(with_a_word(mask), (0, missing))  # (B, L)
        vectors = nn.functional.pad(vectors, (0, 0, 0, missing))  # (B, L, d)
        states: Tensor = self.dropout(self.norm(self._placed(vectors)))
        if mask is not None and mask.device.type == "cpu" and bool(mask.all()):
            mask = None
        if self.local is not None:
            states = self.local(states, mask)  # (B, L / K, d)
            mask = None if mask is None else grouped(mask, self.config.group)
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def states_mask(self, mask: Tensor) -> Tensor:
        """(B, L) -> (B, ceil(L / K)): True on groups with a word."""
        missing = -mask.shape[1] % self.config.group
        return grouped(nn.functional.pad(with_a_word(mask), (0, missing)), self.config.group)

    def _placed(self, vectors: Tensor) -> Tensor:
        """Vectors (B, L, d) plus the learned positions, if there are any."""
        if self.positions is None:
            return vectors
        length = vectors.shape[1]
        if length > self.config.max_positions:
            have = f"positions for {self.config.max_positions}"
            raise InputError(f"encoder: {length} words, {have}; shorten max_length")
        return vectors + self.positions.weight[:length]


def with_a_word(mask: Tensor) -> Tensor:
    """A mask (B, L) whose rows without a word have one in front, since no maximum is over nothing."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0  # (L,)
    return mask | (first & ~mask.any(1, keepdim=True))


def grouped(mask: Tensor, group: int) -> Tensor:
    """(B, L) -> (B, L / K): whether any of K neighbours is a word."""
    return mask.view(len(mask), -1, group).any(2)


ARCHITECTURES = {"proformer": Architecture(ProformerEncoder, SIZES)}
