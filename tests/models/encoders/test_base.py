"""What every encoder of the registry keeps."""

from __future__ import annotations

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


def test_a_shape_has_no_empty_size_and_no_whole_dropout() -> None:
    check_shape(1, 2, dropout=0.0, attention_dropout=0.9)
    with pytest.raises(InputError, match="^encoder: every size must be at least 1; correct the encoder's values$"):
        check_shape(3, 0)
    with pytest.raises(InputError, match=r"^encoder: dropout must lie in \[0, 1\); correct the encoder's values$"):
        check_shape(1, dropout=1.0)


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
