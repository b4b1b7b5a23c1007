"""The chunked cross-entropy against torch's, over chunk borders, dtypes and factors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hashbench.models.objectives import linear_loss
from hashbench.models.objectives.linear_loss import linear_cross_entropy


def drawn(n: int, rows: int = 300, dim: int = 16, scale: float = 1.0) -> tuple[list[Tensor], Tensor]:
    """States (n, d) of a scale, matrix (V, d), bias (V,) with gradients, labels (n,)."""
    generator = torch.Generator().manual_seed(n)
    shapes = ((n, dim), (rows, dim), (rows,))
    tensors = [torch.randn(shape, generator=generator) for shape in shapes]
    tensors = [(tensors[0] * scale).requires_grad_(), *(tensor.requires_grad_() for tensor in tensors[1:])]
    return tensors, torch.randint(0, rows, (n,), generator=generator)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 25])
@pytest.mark.parametrize("factor", [1.0, 0.25])
@pytest.mark.parametrize("scale", [1.0, 10.0])  # the second could overflow
def test_equals_torch_over_chunks_of_eight_and_tiles_of_seventy(
    n: int, factor: float, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_loss, "CPU_CHUNK", 8)
    monkeypatch.setattr(linear_loss, "CPU_TILE", 70)
    ours, labels = drawn(n, scale=scale)
    assert linear_loss.small_scores(*ours) == (scale == 1.0)
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    loss = linear_cross_entropy(*ours, labels) * factor
    expected = torch.nn.functional.cross_entropy(theirs[0] @ theirs[1].T + theirs[2], labels) * factor
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    loss.backward()
    expected.backward()
    for own, other in zip(ours, theirs, strict=True):
        # A score is rounded by its size, and so by as much relatively is its exponential, which slopes are sums of.
        torch.testing.assert_close(own.grad, other.grad, atol=1e-6 * scale, rtol=1e-5 * scale)


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passes of an accelerator, in chunks of eight labels."""
    monkeypatch.setattr(linear_loss, "on_accelerator", lambda states: True)
    monkeypatch.setattr(linear_loss, "ACCELERATOR_CHUNK", 8)


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("n", [0, 1, 8, 25])
@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])  # the last has labels whose share is 0 in float32
def test_the_passes_of_an_accelerator_give_the_same_loss_and_slopes(n: int, scale: float) -> None:
    ours, labels = drawn(n, scale=scale)
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    loss = linear_cross_entropy(*ours, labels)
    if n == 0:
        assert loss.item() == 0
        return
    expected = torch.nn.functional.cross_entropy(theirs[0] @ theirs[1].T + theirs[2], labels)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    loss.backward()
    expected.backward()
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own.grad, other.grad, atol=1e-6, rtol=1e-5)


@pytest.mark.usefixtures("as_on_a_gpu")
def test_the_passes_of_an_accelerator_round_bfloat16_once() -> None:
    ours, labels = drawn(25)
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    with torch.autocast("cpu", torch.bfloat16):
        loss = linear_cross_entropy(*ours, labels)
        scores = torch.nn.functional.linear(*theirs).float()  # rounded by the product, as ours are
    loss.backward()
    expected = torch.nn.functional.cross_entropy(scores, labels)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=2**-8)
    for own, other in zip(ours, theirs, strict=True):
        assert own.grad is not None and other.grad is not None
        # a sum of products of rounded shares, either of which may be rounded up or down: two roundings of the largest
        torch.testing.assert_close(own.grad, other.grad, atol=2**-6 * float(other.grad.abs().max()), rtol=2**-6)


def test_large_logits_do_not_overflow() -> None:
    (states, matrix, bias), labels = drawn(5)
    loss = linear_cross_entropy(states * 1000, matrix, bias, labels)
    expected = torch.nn.functional.cross_entropy(states * 1000 @ matrix.T + bias, labels)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_no_labels_give_no_loss_and_no_slopes() -> None:
    ours, labels = drawn(0)
    loss = linear_cross_entropy(*ours, labels)
    loss.backward()
    assert loss.item() == 0
    assert all(tensor.grad is not None and not tensor.grad.any() for tensor in ours)


def test_without_gradients_only_the_loss_is_made() -> None:
    (states, matrix, bias), labels = drawn(5)
    with torch.no_grad():
        loss = linear_cross_entropy(states, matrix, bias, labels)
    assert not loss.requires_grad
    assert loss.item() == pytest.approx(linear_cross_entropy(states, matrix, bias, labels).item())


def test_autocast_takes_bfloat16_products_and_float32_sums() -> None:
    ours, labels = drawn(40)
    with torch.autocast("cpu", torch.bfloat16):
        loss = linear_cross_entropy(*ours, labels)
    loss.backward()
    expected = torch.nn.functional.cross_entropy(ours[0] @ ours[1].T + ours[2], labels)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=0.02)
    assert loss.item() != expected.item()  # the products were indeed shorter
    assert all(tensor.grad is not None and tensor.grad.dtype == torch.float32 for tensor in ours)


def test_inputs_stay_as_they_were() -> None:
    ours, labels = drawn(9)
    before = [tensor.detach().clone() for tensor in ours]
    linear_cross_entropy(*ours, labels).backward()
    assert all(torch.equal(old, new) for old, new in zip(before, ours, strict=True))
