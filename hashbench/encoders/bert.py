"""BERT's encoder in RoBERTa's frame (Devlin et al. 2019; Liu et al. 2019), tiny to base.

Post-LayerNorm layers with exact GELU; positions, segments and the first LayerNorm belong to the encoder:
x = dropout(LayerNorm(token + position + segment)), then `layers` times
x = LayerNorm(x + dropout(Attention(x))), x = LayerNorm(x + dropout(W2 gelu(W1 x))).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from hashbench.encoders.attention import attention
from hashbench.encoders.base import Architecture, Encoder, take
from hashbench.errors import InputError
from hashbench.layers import Dropout, init_weights


@dataclass(frozen=True)
class EncoderConfig:
    """The shape of an encoder. Defaults: RoBERTa's frame, 514 positions, the first two never used, one segment row."""

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
        sizes = (self.layers, self.heads, self.dim, self.feed_forward, self.max_positions, self.type_rows)
        if min(sizes) < 1:
            raise InputError("encoder: every size must be at least 1; correct the encoder's values")
        if self.dim % self.heads:
            raise InputError(f"encoder: dim {self.dim} is no multiple of heads {self.heads}; choose one that is")
        if not (0 <= self.dropout < 1 and 0 <= self.attention_dropout < 1):
            raise InputError("encoder: dropout and attention_dropout must lie in [0, 1); correct the encoder's values")


SIZES: dict[str, EncoderConfig] = {
    "tiny": EncoderConfig(layers=2, heads=2, dim=128, feed_forward=512),
    "mini": EncoderConfig(layers=4, heads=4, dim=256, feed_forward=1024),
    "small": EncoderConfig(layers=4, heads=8, dim=512, feed_forward=2048),
    "medium": EncoderConfig(layers=8, heads=8, dim=512, feed_forward=2048),
    "base": EncoderConfig(layers=12, heads=12, dim=768, feed_forward=3072),
}


class Layer(nn.Module):
    """One post-LayerNorm transformer layer."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        dim = config.dim
        self.heads, self.attention_dropout = config.heads, config.attention_dropout
        self.qkv = nn.Linear(dim, 3 * dim)  # query, key and value in one product
        self.attention_out = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, config.eps)
        self.up = nn.Linear(dim, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, dim)
        self.norm = nn.LayerNorm(dim, config.eps)
        self.dropout = Dropout(config.dropout)

    def mix(self, qkv: Tensor, mask: Tensor | None) -> Tensor:
        """Queries, keys and values side by side (B, L, 3 d) -> attended values (B, L, d)."""
        batch, length, width = qkv.shape
        query, key, value = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # each (B, H, L, h)
        out = attention(query, key, value, mask, self.attention_dropout if self.training else 0.0)
        return out.transpose(1, 2).reshape(batch, length, width // 3)  # (B, L, d)

    def attend(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Multi-head self-attention: (B, L, d) -> (B, L, d)."""
        mixed: Tensor = self.attention_out(self.mix(self.qkv(states), mask))
        return mixed

    def attend_from(self, asking: Tensor, states: Tensor, mask: Tensor | None) -> Tensor:
        """Attention of some tokens (B, M, d) to all (B, L, d): (B, M, d)."""
        dim = states.shape[-1]
        query = nn.functional.linear(asking, self.qkv.weight[:dim], self.qkv.bias[:dim])  # (B, M, d)
        both = nn.functional.linear(states, self.qkv.weight[dim:], self.qkv.bias[dim:])  # (B, L, 2 d)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, *both.chunk(2, dim=-1))
        )  # each (B, H, M or L, h)
        out = attention(query, key, value, mask, self.attention_dropout if self.training else 0.0)
        return self.attention_out(out.transpose(1, 2).flatten(2))  # (B, M, d)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """(B, L, d) -> (B, L, d)."""
        return self.feed(states, self.attend(states, mask))

    def at(self, states: Tensor, mask: Tensor | None, columns: Tensor, valid: Tensor | None) -> Tensor:
        """What `forward` gives at some places: states (B, L, d), columns (B, M), valid (B, M) or None -> (n, d)."""
        asking = take(states, columns)
        attended = self.attend_from(asking, states, mask)
        if valid is None:
            return self.feed(asking, attended).flatten(0, 1)
        return self.feed(asking[valid], attended[valid])

    def feed(self, states: Tensor, attended: Tensor) -> Tensor:
        """All behind the attention, token by token: two tensors (..., d) -> (..., d)."""
        states = self.attention_norm(states + self.dropout(attended))
        return self.norm(states + self.dropout(self.down(nn.functional.gelu(self.up(states)))))


class BertEncoder(Encoder):
    """Token vectors to token states."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = nn.Embedding(config.max_positions, config.dim)
        self.segments = nn.Embedding(config.type_rows, config.dim)
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.apply(init_weights)

    @property
    def max_length(self) -> int:
        """The longest sequence that has positions."""
        return self.config.max_positions - self.config.first_position

    @property
    def segment_rows(self) -> int:
        """Rows of the segment table."""
        return self.config.type_rows

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on tokens, segments (B, L) or None -> states (B, L, d).

        Padding stands behind the tokens of a row, so a token's position is its column. `mask` None says that there is
        no padding; on a GPU this opens the flash kernel without the wait that looking into the mask would cost.
        """
        states, mask = self._before_layers(vectors, mask, segments)
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def at(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None, columns: Tensor, valid: Tensor | None
    ) -> Tensor:
        """The states at some places alone (n, d): the last layer makes no other, which at two layers halves the work.

        The dropout masks are others than those of `forward`, which draws them for all places.
        """
        states, mask = self._before_layers(vectors, mask, segments)
        for layer in self.layers[:-1]:
            states = layer(states, mask)
        return self.layers[-1].at(states, mask, columns, valid)  # type: ignore[operator]

    def _before_layers(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The sum that enters the first layer (B, L, d), and the mask, None where nothing is padded."""
        length, first = vectors.shape[1], self.config.first_position
        if length > self.max_length:
            raise InputError(f"encoder: {length} tokens, positions for {self.max_length}; shorten max_length")
        vectors = vectors + self.positions.weight[first : first + length]  # (B, L, d)
        kinds = self.segments.weight[0] if segments is None else self.segments(segments)  # (d,) or (B, L, d)
        states = self.dropout(self.norm(vectors + kinds))
        if mask is not None and mask.device.type == "cpu" and bool(mask.all()):
            mask = None
        return states, mask


ARCHITECTURES = {"bert": Architecture(BertEncoder, SIZES)}
