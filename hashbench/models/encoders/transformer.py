"""A transformer encoder (Vaswani et al. 2017, section 3.1) with a hook before its layers, where families differ.

Post-LayerNorm layers: x = LayerNorm(x + dropout(Attention(x))), x = LayerNorm(x + dropout(W2 f(W1 x))). What enters the
first layer is x = dropout(LayerNorm(vector [+ position] [+ segment])), unless a family does more.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.encoders.attention import attention
from hashbench.models.encoders.base import Encoder, check_shape, chosen, take
from hashbench.models.layers import ACTIVATIONS, Dropout, dropped_sum_norm, init_weights

# The shapes of BERT's sizes (Turc et al. 2019, table 1, and its release), from small to large.
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 2, "heads": 2, "dim": 128, "feed_forward": 512},
    "mini": {"layers": 4, "heads": 4, "dim": 256, "feed_forward": 1024},
    "small": {"layers": 4, "heads": 8, "dim": 512, "feed_forward": 2048},
    "medium": {"layers": 8, "heads": 8, "dim": 512, "feed_forward": 2048},
    "base": {"layers": 12, "heads": 12, "dim": 768, "feed_forward": 3072},
}


class TransformerConfig:
    """The shape of a transformer encoder: a family's dataclass declares the values that users may set."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    eps: float
    dropout: float
    attention_dropout: float
    activation: str = "gelu"
    max_positions: int = 0  # learned positions; 0: none, and no longest input
    first_position: int = 0
    type_rows: int = 0  # segments; 0: none

    def __post_init__(self) -> None:
        shares = ("dropout", "attention_dropout")
        check_shape(self, "layers", "heads", "dim", "feed_forward", shares=shares, positive=("eps",))
        if self.dim % self.heads:
            raise InputError(f"encoder: dim {self.dim} is no multiple of heads {self.heads}; choose one that is")


class SelfAttention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads, self.attention_dropout = config.heads, config.attention_dropout
        self.qkv = nn.Linear(config.dim, 3 * config.dim)  # query, key and value in one product
        self.attention_out = nn.Linear(config.dim, config.dim)

    def mix(self, qkv: Tensor, mask: Tensor | None) -> Tensor:
        """Queries, keys and values side by side (B, L, 3 d), mask (B, L) or None -> attended values (B, L, d)."""
        batch, length, width = qkv.shape
        # each (B, H, L, h)
        query, key, value = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        out = attention(query, key, value, mask, self.attention_dropout if self.training else 0.0)
        return out.transpose(1, 2).reshape(batch, length, width // 3)  # (B, L, d)

    def attend(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Self-attention of states (B, L, d), mask (B, L) or None -> (B, L, d)."""
        mixed: Tensor = self.attention_out(self.mix(self.qkv(states), mask))
        return mixed

    def attend_from(self, asking: Tensor, states: Tensor, mask: Tensor | None) -> Tensor:
        """Attention of some tokens (B, M, d) to all (B, L, d), mask (B, L) or None -> (B, M, d)."""
        dim = states.shape[-1]
        query = nn.functional.linear(asking, self.qkv.weight[:dim], self.qkv.bias[:dim])  # (B, M, d)
        both = nn.functional.linear(states, self.qkv.weight[dim:], self.qkv.bias[dim:])  # (B, L, 2 d)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, *both.chunk(2, dim=-1))
        )  # each (B, H, M or L, h)
        out = attention(query, key, value, mask, self.attention_dropout if self.training else 0.0)
        return self.attention_out(out.transpose(1, 2).flatten(2))  # (B, M, d)


class TransformerLayer(SelfAttention):
    """One post-LayerNorm transformer layer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.activation = ACTIVATIONS[config.activation]
        self.attention_norm = nn.LayerNorm(config.dim, config.eps)
        self.up = nn.Linear(config.dim, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.dim)
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, states: Tensor, mask: Tensor | None, columns: Tensor | None = None, kept: Tensor | None = None
    ) -> Tensor:
        """States (B, L, d), mask (B, L) or None -> (B, L, d); with `columns` (B, M) only the states at these, (n, d).

        `kept` (n,): the numbers of the wanted columns among all B M; None for all.
        """
        if columns is None:
            return self.feed(states, self.attend(states, mask))
        asking = take(states, columns)  # (B, M, d)
        attended = self.attend_from(asking, states, mask)  # (B, M, d)
        if kept is None:
            return self.feed(asking, attended).flatten(0, 1)
        return self.feed(chosen(asking, kept), chosen(attended, kept))

    def feed(self, states: Tensor, attended: Tensor) -> Tensor:
        """The part of the layer behind the attention: states and attended states (n, ..., d) -> (n, ..., d)."""
        states = dropped_sum_norm(states, attended, self.attention_norm, self.dropout)
        return dropped_sum_norm(states, self.down(self.activation(self.up(states))), self.norm, self.dropout)


class TransformerEncoder(Encoder):
    """Token vectors to token states. A family overrides `before_layers`, with the parts that it needs."""

    config: TransformerConfig
    unit = "tokens"  # the word for its vectors in messages
    has_residual = True

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = nn.Embedding(config.max_positions, config.dim) if config.max_positions else None
        self.segments = nn.Embedding(config.type_rows, config.dim) if config.type_rows else None
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        for name, part in self.parts_before_layers().items():
            self.add_module(name, part)
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.apply(init_weights)

    def parts_before_layers(self) -> dict[str, nn.Module | None]:
        """Modules that `before_layers` needs besides `enter`, by attribute, in the order in which weights are drawn."""
        return {}

    @property
    def max_length(self) -> int | None:
        """The longest sequence that has positions; None where there are none."""
        return self.config.max_positions - self.config.first_position if self.config.max_positions else None

    def position_vectors(self) -> Tensor | None:
        """The position vectors in use (P, d); None where there are none."""
        return None if self.positions is None else self.positions.weight[self.config.first_position :]

    @property
    def segment_rows(self) -> int | None:
        """Rows of the segment table; None where there is none."""
        return self.config.type_rows or None

    def parts_to_compile(self) -> list[nn.Module]:
        """The layers, with what is before the first one."""
        return [part for part in self.modules() if isinstance(part, SelfAttention)]

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on tokens, segments (B, L) or None -> states (B, L', d).

        Padding is behind the tokens of a row, so a token's position is its column. `mask` None says that there is
        no padding; on a GPU this opens the flash kernel without the wait that looking into the mask would cost.
        """
        states, mask = self.before_layers(vectors, mask, segments)
        for layer in self.layers:
            states = self.through(layer, states, mask)
        return states.to(self.norm.weight.dtype)

    def at(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None, columns: Tensor, kept: Tensor | None
    ) -> Tensor:
        """States (n, d) at some positions: the last layer computes no others, which at two layers halves the work.

        The dropout masks differ from `forward`'s, which draws them for all positions.
        """
        states, mask = self.before_layers(vectors, mask, segments)
        for layer in self.layers[:-1]:
            states = self.through(layer, states, mask)
        return self.through(self.layers[-1], states, mask, columns, kept).to(self.norm.weight.dtype)

    def through(self, layer: nn.Module, *inputs: Tensor | None) -> Tensor:
        """As every encoder's; with `bf16_residual` under autocast, the states (B, L, d) enter and leave in bf16."""
        states = inputs[0]
        assert states is not None
        if self.bf16_residual and torch.is_autocast_enabled(states.device.type):
            return layer(states.to(torch.bfloat16), *inputs[1:])
        return layer(*inputs)

    def before_layers(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The input of the first layer: states (B, n, d), and their mask (B, n), None where nothing is padded."""
        return self.enter(vectors, segments), without_padding(mask)

    def enter(self, vectors: Tensor, segments: Tensor | None) -> Tensor:
        """dropout(LayerNorm(vector + position + segment)): vectors (B, L, d), segments (B, L) or None -> (B, L, d)."""
        if self.positions is not None:
            length, first = vectors.shape[1], self.config.first_position
            longest = self.config.max_positions - first
            if length > longest:
                raise InputError(f"encoder: {length} {self.unit}, positions for {longest}; shorten max_length")
            vectors = vectors + self.positions.weight[first : first + length]  # (B, L, d)
        if self.segments is not None:
            kinds = self.segments.weight[0] if segments is None else self.segments(segments)  # (d,) or (B, L, d)
            vectors = vectors + kinds
        states: Tensor = self.dropout(self.norm(vectors))
        return states


def without_padding(mask: Tensor | None) -> Tensor | None:
    """The mask (B, L), or None where it is True everywhere.

    A mask on a GPU or in a graph is returned unread: the device would have to be waited for, a graph would need a
    branch.
    """
    if mask is None or mask.device.type != "cpu" or torch.compiler.is_compiling():
        return mask
    return None if bool(mask.all()) else mask
