"""Scaled dot-product attention with dropout on the weights, without the CPU's slow path.

torch's fused CPU kernel refuses dropout and falls back to a path that draws its mask serially and keeps every
intermediate. `DroppedAttention` is the same function with cheap mask bits, in place, and a backward written out.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from hashbench.models.layers import keep_mask


class DroppedAttention(torch.autograd.Function):
    """(softmax(q k' / sqrt(h) + bias) * keep) v: q (B, H, M, h), k, v (B, H, L, h), keep (B, H, M, L).

    bias (B, 1, 1, L) or None. M is L, or fewer where not all tokens ask.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, keep: Tensor
    ) -> Tensor:
        """-> (B, H, M, h)."""
        scale = 1.0 / math.sqrt(query.shape[-1])
        scores = (query * scale) @ key.transpose(-1, -2)  # (B, H, M, L)
        if bias is not None:
            scores += bias
        weights = torch.softmax(scores, dim=-1)
        dropped = torch.mul(weights, keep, out=scores)  # the scores are no longer needed
        out = dropped @ value  # (B, H, M, h)
        ctx.save_for_backward(query, key, value, weights, dropped, keep, out)
        ctx.scale = scale  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of query, key and value; bias and keep have none."""
        query, key, value, weights, dropped, keep, out = ctx.saved_tensors  # type: ignore[attr-defined]
        grad_value = dropped.transpose(-1, -2) @ grad  # (B, H, L, h)
        grad_weights = grad @ value.transpose(-1, -2)  # (B, H, M, L), still of the dropped weights
        grad_weights *= keep
        # sum_j w_ij dw_ij = sum_j dropped_ij (g_i . v_j) = g_i . out_i: a sum over h instead of L
        grad_weights -= (grad * out).sum(-1, keepdim=True)
        grad_scores = grad_weights.mul_(weights)
        scale: float = ctx.scale  # type: ignore[attr-defined]
        grad_query = (grad_scores @ key).mul_(scale)
        grad_key = (grad_scores.transpose(-1, -2) @ query).mul_(scale)
        return grad_query, grad_key, grad_value, None, None


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, probability: float) -> Tensor:
    """softmax(q k' / sqrt(h)) v, padding hidden, weights dropped with the probability.

    q (B, H, M, h), k, v (B, H, L, h), mask (B, L) bool with True on tokens or None without padding -> (B, H, M, h).
    """
    plain = query.device.type == "cpu" and query.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    if probability and plain and not torch.compiler.is_compiling():
        bias = None
        if mask is not None:
            bias = torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf)[:, None, None, :]  # (B, 1, 1, L)
        keep = keep_mask(torch.Size((*query.shape[:-1], key.shape[-2])), probability)
        attended: Tensor = DroppedAttention.apply(query, key, value, bias, keep)
        return attended
    allowed = None if mask is None else mask[:, None, None, :]  # (B, 1, 1, L)
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, allowed, dropout_p=probability)
