"""What every encoder of the registry keeps."""

from __future__ import annotations

import pytest
import torch

from hashbench.encoders.base import Encoder
from hashbench.encoders.registry import architectures, encoder_config, make_encoder


@pytest.mark.parametrize("name", list(architectures()))
def test_states_agree_with_their_mask(name: str) -> None:
    encoder = make_encoder(name, "tiny", layers=1).eval()
    assert isinstance(encoder, Encoder)
    config = encoder_config(name, "tiny")
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, 4:] = False
    states = encoder(torch.randn(2, 8, config.dim), mask)
    assert states.shape == (*encoder.states_mask(mask).shape, config.dim)
    assert states.isfinite().all()
    assert encoder.max_length is None or encoder.max_length >= 8
