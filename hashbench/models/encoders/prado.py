"""PRADO: the text as n-grams that convolutions find and attention weighs (Kaliamoorthi, Ravi and Kozareva 2019).

A vector of width d = 2 e has the halves x (value) and y (attention), which a ReLU of the embedding made in the paper.
For each kind of n-gram, with c channels and windows t .. t + k - 1, zeros outside the text:
    v = LayerNorm(W_v window of x + b_v)     a = standardised(W_a window of y + b_a), over the tokens of the text
    out_c = sum_t softmax_t(a_tc) v_tc       attention for each channel
All kinds side by side are the vector of the text, of width sum c; one linear layer follows. Of a skip-gram's window
only the first and the last token count; weights of tokens between are stored and counted, as in the public code.

Differs from the public code (tensorflow/models, seq_flow_lite): batch normalisation, which depends on how a batch is
split, is a LayerNorm of values and, for logits, of each channel over its text, with as many weights; none is on the
outputs of the head; nothing is quantised in training. A pair is [u; v; |u - v|; u * v], its texts encoded apart.

It is never pre-trained: there is no state of a token that an objective could score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.mean import SETTLED, of_model, pair_vector
from hashbench.models.encoders.transformer import SHAPES
from hashbench.models.layers import Dropout, at_least_float32, shares_of_tokens


class NgramKind(NamedTuple):
    """A kind of n-gram: the tokens of a window that count, from its first to its last."""

    name: str
    counted: tuple[int, ...]  # 1 where a token counts


KINDS = (
    NgramKind("unigrams", (1,)),
    NgramKind("bigrams", (1, 1)),
    NgramKind("trigrams", (1, 1, 1)),
    NgramKind("fourgrams", (1, 1, 1, 1)),
    NgramKind("fivegrams", (1, 1, 1, 1, 1)),
    NgramKind("skip1_bigrams", (1, 0, 1)),
    NgramKind("skip2_bigrams", (1, 0, 0, 1)),
)


@dataclass(frozen=True)
class PradoConfig:
    """Channels of each kind of n-gram, 0 for none. Defaults of the sizes: bigrams and trigrams, as published."""

    dim: int  # 2 e: the halves of a vector are value and attention
    unigrams: int = 0
    bigrams: int = 0
    trigrams: int = 0
    fourgrams: int = 0
    fivegrams: int = 0
    skip1_bigrams: int = 0
    skip2_bigrams: int = 0
    entry_dropout: float = 0.5  # of the vectors that enter
    dropout: float = 0.0  # before the linear layer
    eps: float = 1e-5
    layers: ClassVar[int] = 1
    heads: ClassVar[int] = 0  # there are none

    def __post_init__(self) -> None:
        shares = ("dropout", "entry_dropout")
        check_shape(self, "dim", counts=list(self.channels), shares=shares, positive=("eps",))
        if not self.text_width:
            raise InputError(f"encoder: no kind of n-gram has channels; give one of {', '.join(self.channels)} some")
        if self.dim % 2:
            raise InputError(f"encoder: dim {self.dim} has no halves; choose an even one")

    @property
    def channels(self) -> dict[str, int]:
        """Channels of each kind of n-gram by its name."""
        return {kind.name: getattr(self, kind.name) for kind in KINDS}

    @property
    def text_width(self) -> int:
        """Sum of the channels, the width of a text's vector."""
        return sum(self.channels.values())

    @property
    def feed_forward(self) -> int:
        """The width that gives a transformer layer as many multiply-adds, for estimates of memory and time."""
        products = sum(2 * len(kind.counted) * (self.dim // 2) * self.channels[kind.name] for kind in KINDS)
        return max(0, (products - 4 * self.dim**2) // (2 * self.dim))


class Ngrams(nn.Module):
    """N-grams of one kind: (B, L, e) twice -> (B, c)."""

    def __init__(self, kind: NgramKind, width: int, channels: int, eps: float) -> None:
        """`width`: e, of value and attention."""
        super().__init__()
        self.size, self.eps = len(kind.counted), eps
        self.value, self.logit = (nn.Linear(self.size * width, channels) for _ in range(2))
        for layer in (self.value, self.logit):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.value_norm = nn.LayerNorm(channels, eps)
        # A shift of all logits of a channel, and so a bias, changes nothing: they are there as the paper counts them.
        self.logit_norm = nn.LayerNorm(channels, eps)
        self.places = tuple(place for place, counts in enumerate(kind.counted) if counts)

    def forward(self, value: Tensor, attention: Tensor, mask: Tensor | None) -> Tensor:
        """Halves of vectors (B, L, e), 0 where no token is; mask (B, L), None: all are tokens -> (B, c)."""
        values = self.value_norm(self.over_windows(value, self.value))  # (B, L, c)
        logits = standardised(at_least_float32(self.over_windows(attention, self.logit)), mask, self.eps)
        logits = torch.addcmul(self.logit_norm.bias, logits, self.logit_norm.weight)
        return (shares_of_tokens(logits, mask) * values).sum(1).to(value.dtype)

    def over_windows(self, vectors: Tensor, layer: nn.Linear) -> Tensor:
        """The linear layer of windows t .. t + k - 1 of vectors (B, L, e), zeros behind the last: (B, L, c)."""
        length, width = vectors.shape[1:]
        padded = nn.functional.pad(vectors, (0, 0, 0, self.size - 1))  # (B, L + k - 1, e)
        windows = torch.cat([padded[:, i : i + length] for i in self.places], dim=-1)  # (B, L, counted e)
        weight = torch.cat([layer.weight[:, i * width : (i + 1) * width] for i in self.places], dim=1)  # (c, counted e)
        return nn.functional.linear(windows, weight, layer.bias)


def standardised(logits: Tensor, mask: Tensor | None, eps: float) -> Tensor:
    """Logits (B, L, c) with mean 0 and variance 1 over the tokens of each text; mask (B, L) or None."""
    counted = torch.ones_like(logits[..., :1]) if mask is None else mask[..., None].to(logits.dtype)  # (B, L, 1)
    n = counted.sum(1, keepdim=True).clamp_min(1)  # (B, 1, 1)
    centred = logits - (logits * counted).sum(1, keepdim=True) / n
    variance = (centred.square() * counted).sum(1, keepdim=True) / n  # (B, 1, c)
    return centred * torch.rsqrt(variance + eps)


class PradoEncoder(Encoder):
    """Token vectors to one vector a text, or one a pair."""

    config: PradoConfig
    keeps_length = False
    has_token_states = False
    reads_specials = False

    def __init__(self, config: PradoConfig) -> None:
        super().__init__()
        self.config = config
        self.dropout = Dropout(config.entry_dropout)
        self.ngrams = nn.ModuleList(
            Ngrams(kind, config.dim // 2, config.channels[kind.name], config.eps)
            for kind in KINDS
            if config.channels[kind.name]
        )

    @property
    def max_length(self) -> None:
        """None, since there is no limit."""
        return None

    def text_width(self, n_texts: int) -> int:
        """The sum of channels for one text, four times as much for a pair."""
        return self.config.text_width if n_texts == 1 else 4 * self.config.text_width

    def states_mask(self, mask: Tensor) -> Tensor:
        """Mask of tokens (B, L) -> mask of the one state (B, 1), which is True."""
        return torch.ones_like(mask[:, :1])

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on ordinary tokens, segments (B, L) of pairs -> (B, 1, w) or (B, 1, 4 w).

        w is the sum of channels. Without segments all of a row is one text. A text without a token is 0.
        """
        vectors = self.dropout(vectors)
        if segments is None:
            return self.text(vectors, mask)
        tokens = torch.ones_like(segments, dtype=torch.bool) if mask is None else mask
        first, second = (self.text(vectors, tokens & (segments == number)) for number in (0, 1))
        return pair_vector(first, second)

    def text(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        """The vector (B, 1, w) of the texts whose tokens (B, L, d) a mask (B, L) has; None: all."""
        if mask is not None:
            vectors = vectors * mask[..., None]
        value, attention = vectors.chunk(2, dim=-1)  # (B, L, e) each
        return torch.cat([part(value, attention, mask) for part in self.ngrams], dim=-1)[:, None]


# e and the channels of both kinds are half of the width: at tiny these are the 64 of the public configurations.
SIZES = {
    size: PradoConfig(shape["dim"], bigrams=shape["dim"] // 2, trigrams=shape["dim"] // 2)
    for size, shape in SHAPES.items()
}
ARCHITECTURES = {"prado": Architecture(PradoEncoder, SIZES, of_model, SETTLED)}
