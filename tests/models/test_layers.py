"""Initial weights and the cheap dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from hashbench.models.layers import (
    Dropout,
    draw_weights,
    dropout,
    dropped_sum_norm,
    init_weights,
    keep_mask,
    kept,
    shares_of_tokens,
)

N = 2_000_000


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_share_of_dropped_elements(probability: float) -> None:
    torch.manual_seed(0)
    share = (keep_mask(torch.Size([N]), probability) == 0).double().mean().item()
    deviation = (probability * (1 - probability) / N) ** 0.5
    assert abs(share - probability) < 4 * deviation + 1 / 65536


def test_kept_elements_are_scaled_by_the_probability_of_16_bits() -> None:
    mask = keep_mask(torch.Size([1000]), 0.1)
    assert sorted(mask.unique().tolist()) == pytest.approx([0.0, 1 / (1 - 6554 / 65536)])


def test_a_small_probability_is_not_rounded_away() -> None:
    torch.manual_seed(0)
    assert (keep_mask(torch.Size([N]), 0.001) == 0).double().mean().item() == pytest.approx(0.001, rel=0.1)


def test_masks_of_neighbours_and_of_passes_are_independent() -> None:
    torch.manual_seed(0)
    first, second = (keep_mask(torch.Size([N]), 0.5) == 0 for _ in range(2))
    pairs = {"next": (first[1:], first[:-1]), "fourth": (first[4:], first[:-4]), "pass": (first, second)}
    for left, right in pairs.values():
        assert (left & right).double().mean().item() == pytest.approx(0.25, abs=0.0015)  # four deviations


def test_every_position_of_a_word_has_the_same_share() -> None:
    """Four elements come from one 64-bit number; none of the four may differ."""
    torch.manual_seed(0)
    shares = (keep_mask(torch.Size([N]), 0.1) == 0).view(-1, 4).double().mean(0)
    assert (shares - 0.1).abs().max().item() < 4 * (0.09 / (N / 4)) ** 0.5 + 1 / 65536


def test_a_seed_decides_the_mask() -> None:
    torch.manual_seed(5)
    first = keep_mask(torch.Size([3, 7]), 0.5)
    again = keep_mask(torch.Size([3, 7]), 0.5)
    torch.manual_seed(5)
    assert torch.equal(keep_mask(torch.Size([3, 7]), 0.5), first)
    assert not torch.equal(again, first)


def test_dropout_multiplies_value_and_gradient_by_one_mask() -> None:
    values = torch.full((100, 10), 3.0, requires_grad=True)
    dropped = dropout(values, 0.5)
    dropped.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad * 3.0, dropped.detach())
    assert set(values.grad.unique().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_keeps_dtype_and_shape(dtype: torch.dtype) -> None:
    dropped = dropout(torch.ones(3, 5, dtype=dtype), 0.3)
    assert dropped.dtype == dtype and dropped.shape == (3, 5)


def test_dropout_is_off_in_evaluation_and_at_zero() -> None:
    values = torch.randn(4, 4)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0).train()(values) is values


def test_all_or_nothing() -> None:
    assert keep_mask(torch.Size([5]), 1.0).tolist() == [0.0] * 5
    assert keep_mask(torch.Size([0, 3]), 0.5).shape == (0, 3)


@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_no_probability(probability: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        Dropout(probability)


def test_initial_weights() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(300, 300), nn.LayerNorm(300), nn.Embedding(300, 300)).apply(init_weights)
    for weight in (module[0].weight, module[2].weight):
        assert weight.abs().max().item() <= 0.04  # cut at two deviations of 0.02
        assert weight.std().item() == pytest.approx(0.0176, rel=0.02)  # 0.8796 * 0.02
    assert not module[0].bias.any() and not module[1].bias.any() and bool((module[1].weight == 1).all())
    assert draw_weights(torch.empty(2, 3)).shape == (2, 3)


def test_shares_of_tokens_are_a_softmax_over_tokens_alone() -> None:
    logits = torch.tensor([[[1.0], [2.0], [50.0]], [[1.0], [1.0], [1.0]]])
    shares = shares_of_tokens(logits.to(torch.bfloat16), torch.tensor([[True, True, False], [False] * 3]))
    assert shares.dtype == torch.float32 and shares[0, 2] == 0 and not shares[1].any()
    torch.testing.assert_close(shares[0, :2, 0], torch.softmax(torch.tensor([1.0, 2.0]), dim=0))
    torch.testing.assert_close(shares_of_tokens(logits, None), torch.softmax(logits, dim=1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_what_is_kept_is_the_mask_times_its_factor(dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    mask = keep_mask(torch.Size([3, 7]), 0.3, torch.float64)
    torch.manual_seed(5)
    ones, factor = kept(torch.Size([3, 7]), 0.3, dtype)
    assert ones.dtype == dtype and ones.shape == (3, 7)
    torch.testing.assert_close(ones.double() * factor, mask, atol=1e-7, rtol=1e-6)


def summed_and_normed(states: np.ndarray, new: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The equation of LayerNorm (Ba et al. 2016, eq. 4), an element at a time, in float64."""
    out = np.empty(states.shape)
    for row in range(len(states)):
        total = [float(a) + float(b) for a, b in zip(states[row], new[row], strict=True)]
        mean = sum(total) / len(total)
        spread = (sum((x - mean) ** 2 for x in total) / len(total) + 1e-5) ** 0.5
        out[row] = [w * (x - mean) / spread + b for x, w, b in zip(total, weight, bias, strict=True)]
    return out


def test_a_sum_of_narrow_states_is_normed_in_float32_and_rounded_once() -> None:
    torch.manual_seed(0)
    norm, drop = nn.LayerNorm(24), Dropout(0.0)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    states, new = (3 * torch.randn(2, 50, 24)).bfloat16()
    weights = [parameter.detach().numpy() for parameter in norm.parameters()]
    expected = summed_and_normed(states.float().numpy(), new.float().numpy(), *weights)
    with torch.autocast("cpu", torch.bfloat16):
        found = dropped_sum_norm(states, new, norm, drop)
    assert found.dtype == torch.bfloat16
    rounded = torch.from_numpy(expected).float().bfloat16()
    near = torch.from_numpy(expected).abs() * 2**-8 + 1e-5  # half a unit of bf16, and float32's own error
    assert ((found.double() - torch.from_numpy(expected)).abs() <= near).all()
    assert (found == rounded).float().mean() > 0.999


def test_slopes_of_a_sum_of_narrow_states_are_those_of_float32_rounded_once() -> None:
    torch.manual_seed(0)
    norm, drop = nn.LayerNorm(24), Dropout(0.5)
    narrow = [(3 * torch.randn(50, 24)).bfloat16().requires_grad_() for _ in range(2)]
    wide = [x.detach().float().requires_grad_() for x in narrow]
    slope = torch.randn(50, 24).bfloat16()
    for inputs in (narrow, wide):
        torch.manual_seed(1)  # equal masks
        dropped_sum_norm(*inputs, norm, drop).backward(slope.to(inputs[0].dtype))
    for x, y in zip(narrow, wide, strict=True):
        assert x.grad is not None and y.grad is not None and x.grad.dtype == torch.bfloat16
        torch.testing.assert_close(x.grad.float(), y.grad, rtol=2**-8, atol=1e-6)


def test_states_as_wide_as_the_norm_are_normed_as_they_were() -> None:
    torch.manual_seed(0)
    norm, drop = nn.LayerNorm(24), Dropout(0.1)
    states, new = torch.randn(5, 24), torch.randn(5, 24)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        inputs, of_dtype = (states.to(dtype), new.to(dtype)), norm.to(dtype)
        torch.manual_seed(1)
        found = dropped_sum_norm(*inputs, of_dtype, drop)
        torch.manual_seed(1)
        assert torch.equal(found, of_dtype(inputs[0] + drop(inputs[1]))) and found.dtype == dtype
