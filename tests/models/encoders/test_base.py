"""What every encoder of the registry keeps."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Encoder, architectures, check_shape, encoder_config, make_encoder

LIBRARY = pytest.param("transformers", marks=pytest.mark.e2e)  # takes a second to import


@pytest.mark.parametrize("name", [*(name for name in architectures() if name != "transformers"), LIBRARY])
def test_states_agree_with_their_mask(name: str) -> None:
    config = encoder_config(name, "tiny")
    encoder = make_encoder(name, "tiny", **({"layers": 1} if "layers" in vars(config) else {})).eval()
    assert isinstance(encoder, Encoder)
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, 4:] = False
    states = encoder(torch.randn(2, 8, config.dim), mask)
    assert states.shape == (*encoder.states_mask(mask).shape, config.dim)
    assert states.isfinite().all()
    assert encoder.max_length is None or encoder.max_length >= 8


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"layers": 0}, "layers 0 is no whole number from 1 on"),
        ({"layers": -3}, "layers -3 is no whole number from 1 on"),
        ({"dim": 2.0}, "dim 2.0 is no whole number from 1 on"),
        ({"dim": True}, "dim True is no whole number from 1 on"),
        ({"dim": "two"}, "dim 'two' is no whole number from 1 on"),
        ({"dropout": 0}, None),
        ({"dropout": 1.0}, "dropout 1.0 is no number from 0 to below 1"),
        ({"dropout": math.nan}, "dropout nan is no number from 0 to below 1"),
        ({"eps": 1}, None),
        ({"eps": 0}, "eps 0 is no number above 0"),
        ({"eps": math.inf}, "eps inf is no number above 0"),
    ],
)
def test_a_value_out_of_range_is_named_with_its_key(values: dict[str, Any], fault: str | None) -> None:
    config = SimpleNamespace(**{"layers": 1, "dim": 2, "dropout": 0.9, "eps": 1e-5, **values})
    refused = nullcontext() if fault is None else pytest.raises(InputError, match=f"^encoder: {fault}; correct it$")
    with refused:
        check_shape(config, "layers", "dim", shares=("dropout",), positive=("eps",))


@pytest.mark.parametrize("name", architectures())
def test_every_encoder_names_each_size_and_share_that_is_out_of_range(name: str) -> None:
    config = encoder_config(name, "tiny")
    unused = {"heads", "feed_forward", "eps"} if name == "perceptron" else set()
    for entry in fields(config):
        value = getattr(config, entry.name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and entry.name not in unused:
            with pytest.raises(InputError, match=f"^encoder: {entry.name} -1 ") as error:
                encoder_config(name, "tiny", **{entry.name: -1})
            assert "; " in str(error.value) and "\n" not in str(error.value)


def test_states_at_some_positions_are_in_the_order_of_rows_and_columns() -> None:
    class Doubled(Encoder):
        def forward(self, vectors, mask, segments=None):
            return 2 * vectors

    vectors = torch.arange(24.0).reshape(2, 4, 3)  # (B, L, d)
    columns = torch.tensor([[3, 0], [1, 1]])  # (B, M)
    rows = [vectors[row, column].tolist() for row in range(2) for column in columns[row].tolist()]
    states = Doubled().at(vectors, None, None, columns, None)
    assert (states / 2).tolist() == rows
    kept = torch.tensor([0, 2, 3])
    assert (Doubled().at(vectors, None, None, columns, kept) / 2).tolist() == [rows[0], *rows[2:]]
