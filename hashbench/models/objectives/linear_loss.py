"""Cross-entropy of a large linear layer whose logits exist for a chunk of labels at a time and are written once."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

# Labels whose logits exist at a time: fewer make thin products, 640 take 129 MB for 50,265 rows.
CPU_CHUNK = 640
# Rows of the matrix whose logits are made and used before the next, while they are in the cache.
CPU_TILE = 2048
# Enough labels to fill the card; a tile there is the whole matrix.
ACCELERATOR_CHUNK = 4096
LOG2_E = 1 / math.log(2)  # powers of two: exp2 is four times as fast as exp on a CPU


@dataclass(frozen=True)
class Layer:
    """A linear layer in the dtype of the products, with the tiles in which its rows are processed."""

    matrix: Tensor  # (V, d)
    bias: Tensor  # (V,) in units
    tiles: list[slice]  # of the V rows
    safe: bool  # no score can overflow, so no maximum is subtracted
    unit: float  # scores of 1 are so many units: LOG2_E for powers of two


@dataclass
class Powers:
    """E = exp(scores - top) of a chunk of k labels, tile by tile, with sums over the rows and E @ matrix."""

    tiles: list[Tensor]  # (k, tile) each, relative to the top at that time
    tops: list[Tensor]  # (k, 1) each, in units
    sums: Tensor  # (k, 1), relative to the last top, as is
    pulled: Tensor  # (k, d)


def powers(layer: Layer, states: Tensor, buffer: Tensor, train: bool) -> Powers:
    """E = exp(scores - top) of states (k, d), float32 or wider, kept in `buffer` (at least k V,).

    The maximum grows from tile to tile, as in online softmax (Milakov & Gimelshein 2018): what was summed before is
    shrunk when it does.
    """
    n, dtype = len(states), layer.matrix.dtype
    low = (states * layer.unit).to(dtype)
    top = states.new_full((n, 1), 0.0 if layer.safe else -math.inf)
    tiled = Powers([], [], states.new_zeros(n, 1), torch.zeros_like(states))
    for rows in layer.tiles:
        tile = buffer[n * rows.start : n * rows.stop].view(n, -1)
        scores = torch.addmm(layer.bias[rows], low, layer.matrix[rows].T, out=tile).to(states.dtype)
        if not layer.safe:
            higher = torch.maximum(top, scores.amax(1, keepdim=True))
            shrink = torch.exp2(top - higher)
            tiled.sums *= shrink
            tiled.pulled *= shrink
            top = higher
            scores -= top
        tiled.sums += scores.exp2_().sum(1, keepdim=True)
        if tile.dtype != scores.dtype:
            tile.copy_(scores)
        if train:
            tiled.pulled += tile @ layer.matrix[rows]
        tiled.tiles.append(tile)
        tiled.tops.append(top)
    return tiled


def shares(layer: Layer, states: Tensor, buffer: Tensor, train: bool) -> Powers:
    """`powers` for an accelerator, where passes over the block cost more than its arithmetic: E sums to 1.

    torch's softmax reads the block in its own dtype, computes in float32 and rounds once, so no float32 block exists.
    The logarithm of the sum follows from the largest share, which is at least 1 / V: log sum = score - log share.
    states (k, d), float32 or wider, `buffer` (at least k V,).
    """
    scores = buffer[: len(states) * len(layer.matrix)].view(len(states), -1)  # (k, V)
    torch.addmm(layer.bias, states.to(layer.matrix.dtype), layer.matrix.T, out=scores)
    highest, place = scores.max(1, keepdim=True)  # (k, 1)
    tile = torch.softmax(scores, 1)  # (k, V)
    top = highest.to(states.dtype) - tile.gather(1, place).to(states.dtype).log()
    pulled = (tile @ layer.matrix).to(states.dtype) if train else torch.zeros_like(states)
    return Powers([tile], [top], torch.ones_like(top), pulled)


def on_accelerator(states: Tensor) -> bool:
    """True where the states (n, d) are on a GPU: its tile is the whole matrix, and no answer may be waited for."""
    return states.device.type != "cpu"


class LinearCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of states @ matrix' + bias; the gradients are made chunk by chunk during the forward pass.

    With E = exp(scores) and r = 1 / (n sum_v E) the slope of the scores is diag(r) E minus 1 / n at the labels. r is
    multiplied into the narrow factors and the labels are subtracted by their rows, so that E is written only once.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor, dtype: torch.dtype, train: bool
    ) -> Tensor:
        """states (n, d), matrix (V, d), bias (V,), labels (n,) -> scalar in float32 or wider."""
        n, elsewhere = max(len(labels), 1), on_accelerator(states)
        wide = torch.promote_types(matrix.dtype, torch.float32)  # of the sums
        chunk, width = (ACCELERATOR_CHUNK, len(matrix)) if elsewhere else (CPU_CHUNK, CPU_TILE)
        unit, exponentials = (1.0, shares) if elsewhere else (LOG2_E, powers)
        tiles = [slice(start, min(start + width, len(matrix))) for start in range(0, len(matrix), width)]
        safe = not elsewhere and small_scores(states, matrix, bias) and dtype == torch.float32
        layer = Layer(matrix.to(dtype), (bias * unit).to(dtype), tiles, safe, unit)
        # Reused: fresh pages are dear.
        buffer = layer.matrix.new_empty(min(chunk, len(labels)) * len(matrix))
        make = torch.empty_like if len(labels) else torch.zeros_like  # the first chunk overwrites
        grads = make(states), make(layer.matrix), make(bias, dtype=wide)
        products = (states.to(wide) * matrix[labels].to(wide)).sum(1, keepdim=True)  # (n, 1)
        total = -(products + bias[labels, None].to(wide)).sum()
        for start in range(0, len(labels), chunk):
            part = slice(start, start + chunk)
            chunked = states[part].to(wide)
            tiled = exponentials(layer, chunked, buffer, train)
            total += (tiled.sums.log() + tiled.tops[-1] / unit).sum()
            if train:
                rates = 1.0 / (tiled.sums * n)  # r (chunk, 1)
                grads[0][part] = tiled.pulled * rates
                # Beta 0 overwrites.
                add_slopes(grads, layer, tiled, chunked, rates, beta=float(start > 0))
        if train:
            slopes = grads[0] - matrix[labels] / n, grads[1].to(matrix.dtype), grads[2]
            slopes[1].index_add_(0, labels, states.to(matrix.dtype), alpha=-1.0 / n)
            slopes[2].index_add_(0, labels, torch.ones_like(labels, dtype=wide), alpha=-1.0 / n)
            ctx.save_for_backward(slopes[0], slopes[1], slopes[2].to(bias.dtype))
        return total / n

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The stored gradients times the gradient of the loss: shape () -> (n, d), (V, d), (V,), and no others."""
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        # On a GPU the question would wait for the queue.
        if grad.device.type == "cpu" and float(grad) == 1.0:
            return (*saved, None, None, None)
        return (*(tensor * grad.to(tensor.dtype) for tensor in saved), None, None, None)


def add_slopes(
    grads: tuple[Tensor, Tensor, Tensor], layer: Layer, tiled: Powers, states: Tensor, rates: Tensor, beta: float
) -> None:
    """Adds a chunk's part, states (k, d) and rates (k, 1), to the gradients of matrix and bias (beta 0: the first).

    The last tile goes first, as it is still in the cache.
    """
    if on_accelerator(states):  # one tile; its sum is read in the tile's dtype, lest a float32 copy be made
        [tile] = tiled.tiles
        grads[1].addmm_(tile.T, (states * rates).to(tile.dtype), beta=beta)
        summed = tile.T @ rates[:, 0].to(tile.dtype)  # (V,)
        grads[2].add_(summed) if beta else grads[2].copy_(summed)
        return
    for rows, tile, top in reversed(list(zip(layer.tiles, tiled.tiles, tiled.tops, strict=True))):
        # The tile is relative to the maximum at that time.
        rate = rates * torch.exp2(top - tiled.tops[-1])
        grads[1][rows].addmm_(tile.T, (states * rate).to(tile.dtype), beta=beta)
        grads[2][rows].addmv_(tile.T.to(rate.dtype), rate[:, 0], beta=beta)


def small_scores(states: Tensor, matrix: Tensor, bias: Tensor) -> bool:
    """True where no score can reach 60 by Cauchy-Schwarz, so that exp needs no maximum subtracted (exp(60) = 1e26).

    states (n, d), matrix (V, d), bias (V,).
    Checked in float32 alone: a narrower type would overflow.
    """
    if states.dtype != torch.float32 or len(states) == 0:
        return False
    bound = states.norm(dim=1).max() * matrix.norm(dim=1).max() + bias.abs().max()
    return bool(bound < 60)  # False for NaN too


def linear_cross_entropy(states: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of the logits states @ matrix' + bias, 0 where there are no labels.

    states (n, d), matrix (V, d), bias (V,), labels (n,) int64 -> scalar. Products run in autocast's dtype, where it is
    on; softmax and sums in float32 or wider. Gradients equal the plain form's to rounding; there is no second
    derivative.
    """
    kind = states.device.type
    casts = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    dtype = torch.get_autocast_dtype(kind) if casts else matrix.dtype
    with torch.autocast(kind, enabled=False) if casts else nullcontext():
        loss: Tensor = LinearCrossEntropy.apply(states, matrix, bias, labels, dtype, torch.is_grad_enabled())
    return loss
