"""States between the layers of every transformer in bf16, and everything else as it is under autocast."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.encoders.base import architectures, make_encoder

WITHOUT_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}


def with_residual() -> list[str]:
    """Encoders that keep such states."""
    names = [name for name in architectures() if name != "transformers"]  # which wants a library's model
    return [name for name in names if make_encoder(name, "tiny").has_residual]


@pytest.mark.parametrize("name", with_residual())
@pytest.mark.parametrize("padded", [False, True])
def test_layers_hand_on_bf16_and_the_states_are_close_to_float32(name: str, padded: bool) -> None:
    torch.manual_seed(0)
    encoder = make_encoder(name, "tiny", **WITHOUT_DROPOUT).train()
    encoder.bf16_residual = True
    vectors = torch.randn(3, 16, encoder.config.dim, requires_grad=True)
    mask = (torch.arange(16) < torch.tensor([16, 12, 4])[:, None]) if padded else None
    full = encoder(vectors, mask)  # without autocast there is nothing to be kept in bf16
    weights = torch.randn_like(full)
    slopes = torch.autograd.grad((full * weights).sum(), vectors)[0]
    between: list[torch.dtype] = []
    for layer in encoder.layers:
        layer.register_forward_hook(lambda _, inputs, output: between.extend((inputs[0].dtype, output.dtype)))
    with torch.autocast("cpu", torch.bfloat16):
        states = encoder(vectors, mask)
        columns, kept = torch.tensor([[0, 1]] * 3), torch.tensor([0, 1, 2, 4])
        some = encoder.at(vectors, mask, None, columns, kept)
    assert set(between) == {torch.bfloat16} and states.dtype == some.dtype == torch.float32
    torch.testing.assert_close(states, full, atol=0.06, rtol=0)  # of size 1
    torch.testing.assert_close(some, states[:, :2].flatten(0, 1)[kept], atol=0.06, rtol=0)
    found = torch.autograd.grad((states * weights).sum(), vectors)[0]
    assert float((found - slopes).norm()) < 0.05 * float(slopes.norm())


@pytest.mark.parametrize("name", with_residual())
def test_without_the_value_autocast_is_as_it_was(name: str) -> None:
    torch.manual_seed(0)
    encoder = make_encoder(name, "tiny", **WITHOUT_DROPOUT).train()
    between: list[torch.dtype] = []
    for layer in encoder.layers:
        layer.register_forward_hook(lambda _, inputs, output: between.extend((inputs[0].dtype, output.dtype)))
    with torch.autocast("cpu", torch.bfloat16):
        encoder(torch.randn(2, 8, encoder.config.dim), None)
    assert set(between) == {torch.float32}
