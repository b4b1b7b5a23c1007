"""The norm of gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hashbench.running.training.module import clip_norm


def test_a_norm_up_to_the_limit_stays_bit_for_bit_and_a_larger_one_becomes_the_limit() -> None:
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for limit, norm in ((6.0, 5.0), (5.0, 5.0), (2.5, 2.5)):
        for parameter, value in zip(parameters, (3.0, 4.0), strict=True):
            parameter.grad = torch.tensor([value])
        clip_norm(parameters, limit)
        gradients = [float(parameter.grad) for parameter in parameters if parameter.grad is not None]
        assert gradients == (pytest.approx([1.5, 2.0]) if norm < 5 else [3.0, 4.0])
