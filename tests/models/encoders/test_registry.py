"""Encoders by name, size and overrides; what wrong ones say."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import encoder_config, make_encoder


@pytest.mark.parametrize(
    ("size", "shape"),
    [  # layers, heads, dim, feed-forward: Turc et al. 2019; base: Devlin et al. 2019
        ("tiny", (2, 2, 128, 512)),
        ("mini", (4, 4, 256, 1024)),
        ("small", (4, 8, 512, 2048)),
        ("medium", (8, 8, 512, 2048)),
        ("base", (12, 12, 768, 3072)),
    ],
)
def test_sizes(size: str, shape: tuple[int, ...]) -> None:
    config = encoder_config("bert", size)
    assert (config.layers, config.heads, config.dim, config.feed_forward) == shape
    assert (config.max_positions, config.type_rows, config.eps, config.dropout) == (514, 1, 1e-5, 0.1)


def test_overrides_replace_single_values() -> None:
    config = make_encoder("bert", "tiny", layers=1, dropout=0.0).config
    assert (config.layers, config.dropout, config.dim) == (1, 0.0, 128)


@pytest.mark.parametrize(
    ("name", "size", "overrides", "text"),
    [
        ("brt", "tiny", {}, r"^encoder: unknown name 'brt'; did you mean 'bert'\?; encoders: bert"),
        (
            "bert",
            "bases",
            {},
            r"^encoder: unknown size 'bases'; did you mean 'base'\?; sizes: tiny, mini, small, medium, base$",
        ),
        (
            "bert",
            "tiny",
            {"layer": 3},
            r"^encoder: unknown value 'layer'; did you mean 'layers'\?; values: layers, heads",
        ),
    ],
)
def test_wrong_names(name: str, size: str, overrides: dict[str, int], text: str) -> None:
    with pytest.raises(InputError, match=text):
        make_encoder(name, size, **overrides)
