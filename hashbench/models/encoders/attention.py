"""Attention whose weights are dropped in training (Vaswani et al. 2017, section 3.2.1).

torch's fused CPU kernel refuses dropout and falls back to a path that draws its mask serially, keeps every
intermediate, and computes bf16 in float32. `DroppedAttention` is the same function with cheap mask bits, in place,
products in the type of its inputs, and a backward written out.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from hashbench.models.layers import at_least_float32, kept


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, probability: float) -> Tensor:
    """softmax(q k' / sqrt(h)) v, padding hidden, weights dropped with the probability.

    q (B, H, M, h), k, v (B, H, L, h), mask (B, L) bool with True on tokens or None without padding -> (B, H, M, h).
    """
    if probability and query.device.type == "cpu" and not torch.compiler.is_compiling():
        return dropped_attention(query, key, value, mask, probability)
    allowed = None if mask is None else mask[:, None, None, :]  # (B, 1, 1, L)
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, allowed, dropout_p=probability)


def dropped_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, probability: float) -> Tensor:
    """`attention` on a CPU with dropout, by `DroppedAttention`: shapes as there."""
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = (part.to(dtype) for part in (query, key, value))
    bias = None
    if mask is not None:
        bias = torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf)[:, None, None, :]  # (B, 1, 1, L)
    keep, factor = kept(torch.Size((*query.shape[:-1], key.shape[-2])), probability, query.dtype)
    with torch.autocast("cpu", enabled=False):
        attended: Tensor = DroppedAttention.apply(query, key, value, bias, keep, factor)
    return attended


class DroppedAttention(torch.autograd.Function):
    """(softmax(q k' / sqrt(h) + bias) * keep) v * factor: q (B, H, M, h), k, v (B, H, L, h), keep (B, H, M, L).

    bias (B, 1, 1, L) or None. M is L, or fewer where not all tokens ask. Of inputs of two bytes, scores and softmax are
    computed in float32, as fused kernels do; weights, output and gradients are rounded.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        keep: Tensor,
        factor: float,
    ) -> Tensor:
        """Queries, keys, values, bias, kept weights and factor -> attended values (B, H, M, h)."""
        scale = 1.0 / math.sqrt(query.shape[-1])
        scores = (at_least_float32(query) * scale) @ at_least_float32(key).transpose(-1, -2)  # (B, H, M, L)
        if bias is not None:
            scores += bias
        weights = torch.softmax(scores, dim=-1).to(query.dtype)
        # the scores are no longer needed
        dropped = torch.mul(weights, keep, out=scores if scores.dtype == weights.dtype else None)
        out = dropped @ value  # (B, H, M, h)
        out = out if factor == 1.0 else out.mul_(factor)
        ctx.save_for_backward(query, key, value, weights, dropped, keep, out)
        ctx.scale, ctx.factor = scale, factor  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of query, key and value; bias, keep and factor have none."""
        query, key, value, weights, dropped, keep, out = ctx.saved_tensors  # type: ignore[attr-defined]
        # sum_j w_ij dw_ij = sum_j dropped_ij (g_i . v_j) = g_i . out_i: a sum over h instead of L
        row_sums = (at_least_float32(grad) * out).sum(-1, keepdim=True).to(grad.dtype)
        factor: float = ctx.factor  # type: ignore[attr-defined]
        grad = grad if factor == 1.0 else grad * factor
        grad_value = dropped.transpose(-1, -2) @ grad  # (B, H, L, h)
        grad_weights = grad @ value.transpose(-1, -2)  # (B, H, M, L), still of the dropped weights
        grad_weights *= keep
        grad_weights -= row_sums
        grad_scores = grad_weights.mul_(weights)
        scale: float = ctx.scale  # type: ignore[attr-defined]
        grad_query = (grad_scores @ key).mul_(scale)
        grad_key = (grad_scores.transpose(-1, -2) @ query).mul_(scale)
        return grad_query, grad_key, grad_value, None, None, None
