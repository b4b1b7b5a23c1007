"""Cross-entropy of a large linear layer without ever holding its logits."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

CPU_CHUNK = 640  # labels whose logits exist at a time: fewer make thin products, 640 take 129 MB for 50,265 rows
ACCELERATOR_CHUNK = 4096  # enough rows to fill the card


class LinearCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of states @ matrix' + bias; the gradients are made chunk by chunk during the forward pass.

    With E = exp(scores) and r = 1 / (n sum_v E) the slope of the scores is diag(r) E minus 1 / n at the labels. r is
    multiplied into the narrow factors and the labels are subtracted by their rows, so that E is written only once.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor, dtype: torch.dtype, train: bool
    ) -> Tensor:
        """states (n, d), matrix (V, d), bias (V,), labels (n,) -> scalar in float32."""
        n = max(len(labels), 1)
        chunk = CPU_CHUNK if states.device.type == "cpu" else ACCELERATOR_CHUNK
        total = states.new_zeros((), dtype=torch.float32)
        low_matrix, low_states, low_bias = matrix.to(dtype), states.to(dtype), bias.to(dtype)
        safe = small_scores(low_states, low_matrix, low_bias)
        buffer = low_states.new_empty(min(chunk, len(labels)), len(matrix))  # reused: fresh pages are dear
        make = torch.empty_like if len(labels) else torch.zeros_like  # the first chunk overwrites
        grads = [make(states), make(low_matrix), make(bias, dtype=torch.float32)]
        for start in range(0, len(labels), chunk):
            part, beta = slice(start, start + chunk), float(start > 0)  # beta 0 overwrites
            column = labels[part, None]
            scores = torch.addmm(low_bias, low_states[part], low_matrix.T, out=buffer[: len(column)]).float()
            if not safe:
                scores -= scores.amax(1, keepdim=True)
            own = scores.gather(1, column)  # (chunk, 1)
            sums = scores.exp_().sum(1, keepdim=True)
            total += (sums.log() - own).sum()
            if train:
                rates = 1.0 / (sums * n)  # r (chunk, 1)
                powers = scores.to(dtype)  # E (chunk, V)
                grads[0][part] = (powers @ low_matrix) * rates
                grads[1].addmm_(powers.T, (low_states[part] * rates).to(dtype), beta=beta)
                grads[2].addmv_(scores.T, rates[:, 0], beta=beta)
        if train:
            grads[0] -= matrix[labels] / n
            slope = grads[1].to(matrix.dtype).index_add_(0, labels, states.to(matrix.dtype), alpha=-1.0 / n)
            grads[2].index_add_(0, labels, torch.ones_like(labels, dtype=torch.float32), alpha=-1.0 / n)
            ctx.save_for_backward(grads[0], slope, grads[2].to(bias.dtype))
        return total / n

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The stored gradients times the gradient of the loss."""
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        if grad.device.type == "cpu" and float(grad) == 1.0:  # on a GPU the question would wait for the queue
            return (*saved, None, None, None)
        return (*(tensor * grad.to(tensor.dtype) for tensor in saved), None, None, None)


def small_scores(states: Tensor, matrix: Tensor, bias: Tensor) -> bool:
    """Whether no score can reach 60 by Cauchy-Schwarz, so that exp needs no maximum subtracted (exp(60) = 1e26).

    Asked on the CPU in float32 alone: a narrower type would overflow, and a GPU would wait for the answer.
    """
    if states.device.type != "cpu" or states.dtype != torch.float32 or len(states) == 0:
        return False
    bound = states.norm(dim=1).max() * matrix.norm(dim=1).max() + bias.abs().max()
    return bool(bound < 60)  # False for NaN too


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
