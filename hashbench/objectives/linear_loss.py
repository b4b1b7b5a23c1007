"""Cross-entropy of a large linear layer without ever holding its logits."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

CPU_CHUNK = 256  # labels whose logits exist at a time: the buffer stays near the caches and is used again
ACCELERATOR_CHUNK = 4096  # enough rows to fill the card


class LinearCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of states @ matrix' + bias; the gradients are made chunk by chunk during the forward pass."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor, dtype: torch.dtype, train: bool
    ) -> Tensor:
        """states (n, d), matrix (V, d), bias (V,), labels (n,) -> scalar in float32."""
        n = max(len(labels), 1)
        chunk = CPU_CHUNK if states.device.type == "cpu" else ACCELERATOR_CHUNK
        total = states.new_zeros((), dtype=torch.float32)
        low_matrix, low_states = matrix.to(dtype), states.to(dtype)
        grads = None
        if train:
            grads = torch.empty_like(low_states), torch.zeros_like(low_matrix), torch.zeros_like(bias)
        for start in range(0, len(labels), chunk):
            part = slice(start, start + chunk)
            scores = torch.addmm(bias.to(dtype), low_states[part], low_matrix.T).float()  # (chunk, V)
            column = labels[part, None]
            scores -= scores.amax(1, keepdim=True)
            own = scores.gather(1, column)  # (chunk, 1)
            sums = scores.exp_().sum(1, keepdim=True)
            total += (sums.log() - own).sum()
            if grads is None:
                continue
            slopes = scores.div_(sums.mul_(n)).scatter_add_(1, column, scores.new_full(column.shape, -1.0 / n))
            grads[2].add_(slopes.sum(0))
            slopes = slopes.to(dtype)
            torch.mm(slopes, low_matrix, out=grads[0][part])
            grads[1].addmm_(slopes.T, low_states[part])
        if grads is not None:
            ctx.save_for_backward(grads[0].to(states.dtype), grads[1].to(matrix.dtype), grads[2])
        return total / n

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The stored gradients times the gradient of the loss."""
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        if grad.device.type == "cpu" and float(grad) == 1.0:  # on a GPU the question would wait for the queue
            return (*saved, None, None, None)
        return (*(tensor * grad.to(tensor.dtype) for tensor in saved), None, None, None)


def linear_cross_entropy(states: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of the logits states @ matrix' + bias, 0 where there are no labels.

    states (n, d), matrix (V, d), bias (V,), labels (n,) int64 -> scalar. Products run in autocast's dtype, where it is
    on; softmax and sums in float32. Gradients equal those of the plain form to rounding; there is no second derivative.
    """
    kind = states.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else matrix.dtype
    with torch.autocast(kind, enabled=False):
        loss: Tensor = LinearCrossEntropy.apply(states, matrix, bias, labels, dtype, torch.is_grad_enabled())
    return loss
