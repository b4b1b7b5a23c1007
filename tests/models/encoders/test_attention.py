"""Attention with dropout against its equation in loops, and its gradients against autograd's."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hashbench.models.encoders.attention import DroppedAttention, attention
from hashbench.models.layers import keep_mask

SHAPE = (2, 3, 5, 4)  # B, H, L, h


def drawn(seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(SHAPE, generator=generator, dtype=dtype).requires_grad_() for _ in range(3))
    return query, key, value


def in_loops(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, keep: Tensor) -> Tensor:
    """softmax over allowed columns, one weight at a time."""
    out = torch.zeros(SHAPE)
    for b in range(SHAPE[0]):
        for h in range(SHAPE[1]):
            for i in range(SHAPE[2]):
                scores = [
                    math.exp(float(query[b, h, i] @ key[b, h, j]) / math.sqrt(SHAPE[3])) if mask[b, j] else 0.0
                    for j in range(SHAPE[2])
                ]
                for j in range(SHAPE[2]):
                    out[b, h, i] += scores[j] / sum(scores) * float(keep[b, h, i, j]) * value[b, h, j]
    return out


def plain(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, keep: Tensor) -> Tensor:
    """The same in torch operations that autograd differentiates."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + bias
    return (torch.softmax(scores, -1) * keep) @ value


MASK = torch.tensor([[True] * 5, [True, True, True, False, False]])


def test_values_equal_the_equation() -> None:
    torch.manual_seed(7)
    keep = keep_mask(torch.Size((*SHAPE[:3], SHAPE[2])), 0.3)
    torch.manual_seed(7)
    with torch.no_grad():
        query, key, value = drawn()
        out = attention(query, key, value, MASK, 0.3)
        torch.testing.assert_close(out, in_loops(query, key, value, MASK, keep), atol=1e-5, rtol=1e-5)


def test_gradients_equal_autograd() -> None:
    keep = keep_mask(torch.Size((*SHAPE[:3], SHAPE[2])), 0.5).double()
    bias = torch.zeros(MASK.shape, dtype=torch.float64).masked_fill(~MASK, -torch.inf)[:, None, None, :]
    ours, theirs = drawn(dtype=torch.float64), drawn(dtype=torch.float64)
    weights = torch.randn(SHAPE, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    (DroppedAttention.apply(*ours, bias, keep, 1.0) * weights).sum().backward()
    (plain(*theirs, bias, keep) * weights).sum().backward()
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own.grad, other.grad, atol=1e-12, rtol=1e-9)


def test_gradients_equal_finite_differences_without_padding() -> None:
    keep = keep_mask(torch.Size((1, 1, 5, 5)), 0.5).double()
    inputs = tuple(tensor[:1, :1].detach().requires_grad_() for tensor in drawn(dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda q, k, v: DroppedAttention.apply(q, k, v, None, keep, 1.0), inputs)


def test_the_factor_is_that_of_the_output() -> None:
    keep = keep_mask(torch.Size((1, 1, 5, 5)), 0.5).double()
    ours, theirs = drawn(dtype=torch.float64), drawn(dtype=torch.float64)
    one = [part[:1, :1] for part in ours]
    other = [part[:1, :1] for part in theirs]
    DroppedAttention.apply(*one, None, (keep != 0).double(), 2.0).square().sum().backward()
    DroppedAttention.apply(*other, None, keep, 1.0).square().sum().backward()
    for own, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own.grad, expected.grad, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("mask", [None, MASK])
def test_in_bf16_it_is_the_equation_but_for_rounding(mask: Tensor | None) -> None:
    """Under autocast: value and gradients beside those of the same numbers in float64, with the same draws."""
    ours = [part.detach().bfloat16().requires_grad_() for part in drawn()]
    theirs = [part.detach().double().requires_grad_() for part in ours]
    torch.manual_seed(3)
    with torch.autocast("cpu", torch.bfloat16):
        out = attention(*ours, mask, 0.3)
    torch.manual_seed(3)
    keep = keep_mask(torch.Size((*SHAPE[:3], SHAPE[2])), 0.3).double()
    bias = torch.zeros(2, 5).masked_fill(~MASK if mask is not None else torch.zeros(2, 5).bool(), -torch.inf)
    expected = plain(*theirs, bias.double()[:, None, None, :], keep)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double(), expected, atol=0.02, rtol=0.02)
    out.float().square().sum().backward()
    expected.square().sum().backward()
    for own, other in zip(ours, theirs, strict=True):
        assert (own.grad.double() - other.grad).norm() < 0.015 * other.grad.norm()


def test_no_weight_is_raised_by_the_rounding_of_its_factor() -> None:
    """1 / (1 - 0.1) is 1.1094 in bf16, 0.16 % too little, in each of the weights."""
    torch.manual_seed(0)
    value = torch.ones(64, 2, 128, 8, dtype=torch.bfloat16)
    with torch.no_grad():
        out = attention(torch.zeros_like(value), torch.zeros_like(value), value, None, 0.1).float()
    assert out.mean().item() == pytest.approx(1.0, abs=5e-4)


@pytest.mark.parametrize("mask", [None, MASK])
def test_without_dropout_it_is_torchs_attention(mask: Tensor | None) -> None:
    query, key, value = drawn()
    bias = torch.zeros(2, 1, 1, 5) if mask is None else torch.zeros(2, 5).masked_fill(~mask, -torch.inf)[:, None, None]
    expected = plain(query, key, value, bias, torch.ones(1))
    torch.testing.assert_close(attention(query, key, value, mask, 0.0), expected, atol=1e-6, rtol=1e-5)


def test_the_mean_over_many_masks_is_attention_without_dropout() -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        inputs = drawn()
        many = [tensor.repeat(4000, 1, 1, 1) for tensor in inputs]  # 4000 times the two rows, a mask for each
        mean = attention(*many, MASK.repeat(4000, 1), 0.1).view(4000, *SHAPE).mean(0)
        # 0.03 is about four deviations of the noisiest element, and a third of the bias without rescaling
        torch.testing.assert_close(mean, attention(*inputs, MASK, 0.0), atol=0.03, rtol=0)


def test_inputs_stay_as_they_were() -> None:
    inputs = drawn()
    before = [tensor.detach().clone() for tensor in inputs]
    attention(*inputs, MASK, 0.5).sum().backward()
    assert all(torch.equal(old, new) for old, new in zip(before, inputs, strict=True))
