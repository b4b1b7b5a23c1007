"""How long a training takes by its arithmetic and this machine's speed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch

from hashbench.models.encoders.registry import encoder_config

# The share of a plain matrix product's speed that training reaches at dim 128, with everything around it.
SHARE_OF_PEAK = 0.2
MOST_OF_PEAK = 0.5  # what wide encoders reach: measured 0.5 at dim 768


def training_seconds(encoder: Mapping[str, Any], tokens: float) -> float:
    """Seconds to train on so many tokens: 6 operations a weight and token, at a share of this machine's peak.

    `encoder`: the block of a spec (kind, size and what differs from it).
    """
    shape = dict(encoder)
    config = encoder_config(shape.pop("kind"), shape.pop("size"), **shape)
    weights = config.layers * (4 * config.dim**2 + 2 * config.dim * config.feed_forward)
    share = min(MOST_OF_PEAK, SHARE_OF_PEAK * max(1.0, config.dim / 128))
    return float(6 * weights * tokens / (share * operations_per_second()))


@cache
def operations_per_second() -> float:
    """Multiply-adds, counted as two, that a matrix product of this machine does in a second: the best of eight, as
    other work on the machine halts some of them."""
    size = 1024
    device = "cuda" if torch.cuda.is_available() else "cpu"
    left = torch.randn(size, size, device=device)
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        float((left @ left)[0, 0])  # waits for the device
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds)
