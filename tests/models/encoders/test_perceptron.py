"""The hidden layers of SGNN against the formula."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import make_encoder


def test_sigmoids_and_a_linear_map_between_them() -> None:
    encoder = make_encoder("perceptron", "base", dim=3).eval()
    vectors = torch.tensor([[[0.5, -1.0, 2.0]]])
    hidden = 1 / (1 + torch.exp(-vectors))
    expected = 1 / (1 + torch.exp(-(hidden @ encoder.hidden[0].weight.T + encoder.hidden[0].bias)))
    assert len(encoder.hidden) == 1
    torch.testing.assert_close(encoder(vectors, None), expected)


def test_dropout_is_a_quarter_between_the_layers() -> None:
    torch.manual_seed(0)
    encoder = make_encoder("perceptron", "base", dim=64).train()
    vectors = torch.zeros(1, 1, 64)
    assert encoder.config.dropout == 0.25
    assert not torch.equal(encoder(vectors, None), encoder(vectors, None))


@pytest.mark.parametrize("values", [{"layers": 0}, {"dim": 0}, {"dropout": 1.0}])
def test_wrong_values(values: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"^encoder: .* is no (whole )?number from .*; correct it$"):
        make_encoder("perceptron", "base", **values)


@pytest.mark.parametrize("value", ["heads", "feed_forward"])
def test_values_without_effect_are_refused(value: str) -> None:
    with pytest.raises(InputError, match=f"unknown value '{value}'; values: layers, dim, dropout, eps"):
        make_encoder("perceptron", "base", **{value: 4})
