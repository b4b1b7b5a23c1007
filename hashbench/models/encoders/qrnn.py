"""Quasi-recurrent layers that read a text from both ends (Bradbury et al. 2017; pQRNN, Kaliamoorthi et al. 2021).

One direction of a layer, with S units and windows of k neighbours, zeros outside the text (fo-pooling):
    z, f, o = tanh, sigmoid, sigmoid of LayerNorm(W window + b)      windows end at t forwards, begin at t backwards
    h_t = f_t h_(t-1) + (1 - f_t) z_t,  h before the first token = 0,  output o_t h_t
Both outputs side by side are the next layer's input, of width 2 S. Padding changes no state and has the output 0.
Zoneout in training (Krueger et al. 2017): each element keeps its state (f = 1) with probability p^l in layer l from 1.

Differs from pQRNN's public code (tensorflow/models, seq_flow_lite): each gate has a LayerNorm in place of a batch
normalisation, with as many weights, since a result must not depend on how a batch is split; nothing is quantised in
training. Dropout of the vectors that enter is an addition, 0 in `pqrnn`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Architecture, Encoder, check_shape
from hashbench.models.encoders.transformer import SHAPES, without_padding
from hashbench.models.layers import Dropout, at_least_float32, keep_mask

GRAPH_LENGTH = 512  # tokens of a traced graph that names no number
Gates = Literal["f", "fo", "ifo"]  # f: no output gate; ifo: i z in place of (1 - f) z


@dataclass(frozen=True)
class QrnnConfig:
    """The shape of the layers. Defaults: the kernel of pQRNN's code, and the zoneout that its paper is cited with."""

    layers: int
    dim: int  # width of the vectors that enter
    state: int = 0  # S, units of one direction; 0: half of dim, so that states have the width of vectors
    kernel: int = 3  # k, tokens of a window
    gates: Gates = "fo"
    zoneout: float = 0.5  # p of the first layer, p^2 in the second
    dropout: float = 0.1  # of the vectors that enter, and of the head
    eps: float = 1e-5
    heads: ClassVar[int] = 0  # there is no attention

    def __post_init__(self) -> None:
        check_shape(self, "layers", "dim", "kernel", shares=("dropout", "zoneout"), positive=("eps",))
        if self.state != 0:
            check_shape(self, "state")
        elif self.dim % 2:
            raise InputError(f"encoder: dim {self.dim} has no half for the two directions; give state, or an even dim")
        if self.gates not in get_args(Gates):
            raise InputError(f"encoder: gates {self.gates!r}; choose from {', '.join(get_args(Gates))}")

    @property
    def units(self) -> int:
        """S, the units of one direction."""
        return self.state or self.dim // 2

    @property
    def n_gates(self) -> int:
        """Maps of a window in one direction: the candidate z, and the gates."""
        return 1 + len(self.gates)

    @property
    def feed_forward(self) -> int:
        """The width that gives a transformer layer as many multiply-adds, for estimates of memory and time."""
        products = 2 * self.n_gates * self.kernel * 2 * self.units * self.units
        return max(0, (products - 4 * self.dim**2) // (2 * self.dim))


class QrnnLayer(nn.Module):
    """One layer in both directions."""

    def __init__(self, config: QrnnConfig, width: int, zoneout: float) -> None:
        """`width`: of its input; `zoneout`: the probability of this layer."""
        super().__init__()
        self.kernel, self.gates, self.zoneout = config.kernel, config.gates, zoneout
        self.longest = GRAPH_LENGTH
        shape = (2, config.n_gates, config.units)  # direction, gate, unit
        self.window = nn.Linear(config.kernel * width, math.prod(shape))
        for gate in self.window.weight.chunk(2 * config.n_gates):
            nn.init.xavier_uniform_(gate)
        nn.init.zeros_(self.window.bias)
        self.norm = GateNorm(shape, config.eps)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, L, w), 0 on padding; mask (B, L) or None without padding -> (B, L, 2 S), 0 on padding."""
        length, around = states.shape[1], self.kernel - 1
        padded = nn.functional.pad(states, (0, 0, around, around))  # (B, L + 2 k - 2, w)
        # A window that ends at t and one that begins at t are rows of one product.
        windows = torch.cat([padded[:, i : i + length + around] for i in range(self.kernel)], dim=-1)
        values = self.norm(self.window(windows).unflatten(-1, self.norm.weight.shape))  # (B, L + k - 1, 2, g, S)
        forwards = self.one_way(values[:, :length, 0], mask, backwards=False)
        backwards = self.one_way(values[:, around:, 1], mask, backwards=True)
        return torch.cat([forwards, backwards], dim=-1).to(states.dtype)  # (B, L, 2 S)

    def one_way(self, values: Tensor, mask: Tensor | None, *, backwards: bool) -> Tensor:
        """Normalised gates of one direction (B, L, g, S) -> outputs (B, L, S)."""
        candidate, *opened = values.unbind(2)  # each (B, L, S)
        gate = {name: torch.sigmoid(part) for name, part in zip(self.gates, opened, strict=True)}
        keep, new = gate["f"], torch.tanh(candidate)
        entered = gate["i"] if "i" in gate else 1 - keep
        if (held := self.held(keep, mask)) is not None:  # the state is kept, and nothing enters
            keep, entered = keep.masked_fill(held, 1.0), entered.masked_fill(held, 0.0)
        states = recurrence(keep, entered * new, backwards=backwards, longest=self.longest)
        if "o" in gate:
            states = gate["o"] * states
        return states if mask is None else states * mask[..., None]

    def held(self, keep: Tensor, mask: Tensor | None) -> Tensor | None:
        """Elements whose state stays, by zoneout or on padding: bool, as `keep` (B, L, S) or (B, L, 1); None: none."""
        padding = None if mask is None else ~mask[..., None]
        if not (self.training and self.zoneout):
            return padding
        if keep.device.type == "cpu" and not torch.compiler.is_compiling():
            drawn = keep_mask(keep.shape, self.zoneout) == 0  # cheap bits
        else:
            drawn = torch.rand_like(keep) < self.zoneout
        return drawn if padding is None else drawn | padding


class GateNorm(nn.LayerNorm):
    """A LayerNorm over the units of each gate, in float32, with weights of each gate."""

    def __init__(self, shape: tuple[int, int, int], eps: float) -> None:
        """`shape`: directions, gates and units."""
        super().__init__(shape[-1], eps, elementwise_affine=False)
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape))

    def forward(self, values: Tensor) -> Tensor:
        """Values (B, L, 2, g, S) -> the same shape, in float32."""
        normalised = nn.functional.layer_norm(at_least_float32(values), self.normalized_shape, eps=self.eps)
        return torch.addcmul(self.bias, normalised, self.weight)


class QrnnEncoder(Encoder):
    """Token vectors to states of both directions, whatever the number of tokens."""

    config: QrnnConfig

    def __init__(self, config: QrnnConfig) -> None:
        super().__init__()
        self.config = config
        self.dropout = Dropout(config.dropout)
        widths = [config.dim] + [2 * config.units] * (config.layers - 1)
        self.layers = nn.ModuleList(
            QrnnLayer(config, width, config.zoneout ** (i + 1)) for i, width in enumerate(widths)
        )

    @property
    def max_length(self) -> None:
        """None, since there is no limit."""
        return None

    def for_graph(self, longest: int) -> None:
        """Called before it is traced for inputs of at most so many tokens, which decides the steps of a recurrence."""
        for layer in self.layers:
            assert isinstance(layer, QrnnLayer)
            layer.longest = longest

    def parts_to_compile(self) -> list[nn.Module]:
        """The layers."""
        return list(self.layers)

    @property
    def keeps_length(self) -> bool:  # type: ignore[override]  # of a class in `Encoder`
        """True where states have the width of vectors, which the heads of pre-training need."""
        return 2 * self.config.units == self.config.dim

    def unmet_need(self, kind: str) -> str:
        """That states are as wide as vectors, which the half of `dim` as `state` gives."""
        dim, width = self.config.dim, 2 * self.config.units
        remedy = f"dim: {width}" if dim % 2 else f"state: {dim // 2}"
        return (
            f"states as wide as the vectors that enter, dim {dim}, and those of encoder {kind} have {width}, two "
            f"directions of state {self.config.units}; write encoder: {{kind: {kind}, {remedy}}}, or objective: none"
        )

    def text_width(self, n_texts: int) -> int:
        """2 S."""
        return 2 * self.config.units

    def token_layers(self) -> nn.Module | None:
        """A linear map of states (B, L, 2 S) to (B, L, d); None where they have that width."""
        return None if self.keeps_length else TokenMap(2 * self.config.units, self.config.dim)

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on tokens or None without padding -> (B, L, 2 S). No segments are read.

        Padding is behind the tokens of a row.
        """
        mask = without_padding(mask)
        states = self.dropout(vectors)
        if mask is not None:
            states = states * mask[..., None]
        for layer in self.layers:
            states = layer(states, mask)
        return states


class TokenMap(nn.Linear):
    """A linear map of single states."""

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """States (B, L, w), mask (B, L) or None -> (B, L, d)."""
        return super().forward(states)


def recurrence(keep: Tensor, entering: Tensor, *, backwards: bool = False, longest: int = 0) -> Tensor:
    """h_t = keep_t h_(t-1) + entering_t, all (B, L, S); `backwards`: of h_(t+1), from the last t to the first.

    Without a step for each t. In a traced graph, whose L is a symbol, for L up to `longest`.
    """
    if torch.compiler.is_compiling():
        return _doubled(keep, entering, backwards, longest if torch.compiler.is_exporting() else keep.shape[1])
    states: Tensor = Recurrence.apply(keep, entering, backwards)
    return states


class Recurrence(torch.autograd.Function):
    """`recurrence` and its gradients: dL/d entering_t = G_t = g_t + keep_(t+1) G_(t+1), dL/d keep_t = G_t h_(t-1)."""

    @staticmethod
    def forward(ctx: FunctionCtx, keep: Tensor, entering: Tensor, backwards: bool) -> Tensor:
        """Shares kept and values that enter, both (B, L, S) -> states (B, L, S)."""
        states = in_blocks(keep, entering, backwards)
        ctx.save_for_backward(keep, states)
        ctx.backwards = backwards  # type: ignore[attr-defined]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of `keep` and `entering`: the same recurrence, from the other end."""
        keep, states = ctx.saved_tensors  # type: ignore[attr-defined]
        backwards: bool = ctx.backwards  # type: ignore[attr-defined]
        grads = in_blocks(_shifted(keep, 1, not backwards), grad, not backwards)
        return grads * _shifted(states, 1, backwards), grads, None


def in_blocks(keep: Tensor, entering: Tensor, backwards: bool) -> Tensor:
    """`recurrence` in 3 sqrt(L) steps: the blocks of k neighbours side by side, then what each hands to the next."""
    batch, length, width = keep.shape
    k = math.isqrt(max(length, 1) - 1) + 1
    n = -(-length // k)
    filled = (0, 0, 0, n * k - length)
    states = nn.functional.pad(entering, filled).view(batch, n, k, width)
    kept = nn.functional.pad(keep, filled, value=1.0).view(batch, n, k, width)  # products from a block's first on
    for before, at in _neighbours(k, backwards):
        states[:, :, at].addcmul_(kept[:, :, at], states[:, :, before])
        kept[:, :, at].mul_(kept[:, :, before])
    last = 0 if backwards else k - 1
    for before, at in _neighbours(n, backwards):
        states[:, at].addcmul_(kept[:, at], states[:, before, last : last + 1])
    return states.view(batch, n * k, width)[:, :length]


def _neighbours(n: int, backwards: bool) -> Iterator[tuple[int, int]]:
    """The pairs (before, at) of places 0 to n - 1, in the order of the recurrence."""
    places = range(n - 1, -1, -1) if backwards else range(n)
    return zip(places, places[1:], strict=False)


def _doubled(keep: Tensor, entering: Tensor, backwards: bool, longest: int) -> Tensor:
    """`recurrence` in log2(longest) steps; each step doubles the number of neighbours that are summed up."""
    reach = 1
    while reach < longest:
        entering = entering + keep * _shifted(entering, reach, backwards)
        keep = keep * _shifted(keep, reach, backwards)
        reach *= 2
    return entering


def _shifted(values: Tensor, by: int, backwards: bool) -> Tensor:
    """Values (B, L, S) of the places that are `by` before each place in the order of the recurrence, 0 where none."""
    if backwards:
        return nn.functional.pad(values, (0, 0, 0, by))[:, by:]
    return nn.functional.pad(values, (0, 0, by, 0))[:, : values.shape[1]]


SIZES = {size: QrnnConfig(shape["layers"], shape["dim"]) for size, shape in SHAPES.items()}
ARCHITECTURES = {"qrnn": Architecture(QrnnEncoder, SIZES)}
