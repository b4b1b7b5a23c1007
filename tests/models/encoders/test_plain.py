"""models/encoders/mean.py: the original Transformer's layers over a set."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import make_encoder
from hashbench.models.encoders.mean import PlainConfig, PlainEncoder

CONFIG = PlainConfig(layers=2, heads=2, dim=8, feed_forward=16)


def encoder(**changes: object) -> PlainEncoder:
    torch.manual_seed(0)
    made = make_encoder("plain", "tiny", **{**vars(CONFIG), **changes})
    assert isinstance(made, PlainEncoder)
    return made.eval()


def by_definition(made: PlainEncoder, vectors: torch.Tensor, activation: object) -> torch.Tensor:
    """Post-LayerNorm layers, head by head."""
    states = made.norm(vectors)
    for layer in made.layers:
        query, key, value = layer.qkv(states).chunk(3, -1)
        heads = []
        for q, k, v in zip(*(part.chunk(2, -1) for part in (query, key, value)), strict=True):
            heads.append((q @ k.transpose(1, 2) / 4**0.5).softmax(-1) @ v)
        states = layer.attention_norm(states + layer.attention_out(torch.cat(heads, -1)))
        states = layer.norm(states + layer.down(activation(layer.up(states))))  # type: ignore[operator]
    return states


@pytest.mark.parametrize(("name", "activation"), [("relu", torch.relu), ("gelu", torch.nn.functional.gelu)])
def test_states_equal_the_definition(name: str, activation: object) -> None:
    made, vectors = encoder(activation=name), torch.randn(3, 5, 8)
    torch.testing.assert_close(made(vectors, None), by_definition(made, vectors, activation), atol=1e-5, rtol=1e-5)


def test_the_order_of_items_does_not_matter() -> None:
    made, vectors, order = encoder(), torch.randn(2, 6, 8), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(made(vectors[:, order], None), made(vectors, None)[:, order], atol=1e-6, rtol=1e-5)


def test_states_at_some_places_are_those_of_all() -> None:
    made, vectors = encoder(), torch.randn(2, 6, 8)
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    columns, kept = torch.tensor([[5, 0, 3], [1, 2, 0]]), torch.tensor([0, 1, 3, 5])
    states = made(vectors, mask)
    expected = torch.stack([states[0, 5], states[0, 0], states[1, 1], states[1, 0]])
    torch.testing.assert_close(made.at(vectors, mask, None, columns, kept), expected, atol=1e-6, rtol=1e-5)


def test_padding_is_hidden() -> None:
    made, vectors = encoder(), torch.randn(1, 6, 8)
    mask = torch.tensor([[True] * 4 + [False] * 2])
    torch.testing.assert_close(made(vectors, mask)[:, :4], made(vectors[:, :4], None), atol=1e-6, rtol=1e-5)


def test_the_count_of_parameters() -> None:
    """LayerNorm 2 d and, a layer, 4 d^2 + 4 d + 2 d f + f + d + 4 d."""
    d, f, layers = 8, 16, 2
    expected = 2 * d + layers * (4 * d * d + 4 * d + 2 * d * f + f + d + 4 * d)
    assert sum(parameter.numel() for parameter in encoder().parameters()) == expected


def test_there_is_no_longest_input() -> None:
    assert encoder().max_length is None


def test_an_unknown_activation() -> None:
    with pytest.raises(InputError, match="activation 'tanh'; choose from relu, gelu"):
        encoder(activation="tanh")
