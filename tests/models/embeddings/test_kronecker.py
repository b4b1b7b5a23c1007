"""Kronecker embeddings against their dense definition and the numbers of the authors' package."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.coders.byte_positions import BytePositions
from hashbench.models.embeddings.kronecker import Kronecker

WORDS = ["", "a", "the", "hello", "internationalization", "\u6771\u4eac"]


def code_of(word: str, positions: int) -> torch.Tensor:
    """The Kronecker product of bytes and positions over sqrt(L), in float64."""
    code = torch.zeros(256 * positions, dtype=torch.float64)
    rows = BytePositions(positions).encode([word])[0]
    for row in rows[rows >= 0]:
        code[row] = 1.0
    return code / code.sum().clamp(min=1).sqrt()


@pytest.mark.parametrize("positions", [7, 16])
def test_it_is_one_linear_map_of_the_code(positions: int) -> None:
    model = Kronecker(8, positions).double()
    expected = torch.stack([code_of(word, positions) for word in WORDS]) @ model.table.weight
    found = model.embed_types(torch.from_numpy(BytePositions(positions).encode(WORDS)))
    assert torch.allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("positions", [7, 16])
def test_the_published_form_has_codes_of_mean_0_and_deviation_1(positions: int) -> None:
    model = Kronecker(8, positions, published=True).double()
    codes = torch.stack([code_of(word, positions) for word in WORDS])
    centred = (codes - codes.mean(1, keepdim=True)) / (codes.std(1, keepdim=True) + 1e-6)
    found = model.embed_types(torch.from_numpy(BytePositions(positions).encode(WORDS)))
    assert torch.allclose(found, centred @ model.table.weight, atol=1e-9)


@pytest.mark.parametrize(
    ("positions", "word", "on", "off"),
    [
        (16, "a", 63.98028, -0.015624),
        (16, "hello", 28.59887, -0.034953),
        (7, "the", 24.41209, -0.040937),
        (7, "internationalization", 15.96359, -0.062602),
        (32, "hello", 40.4587, -0.02471),
    ],
)
def test_known_codes_of_the_package(positions: int, word: str, on: float, off: float) -> None:
    """A map with a single column of one entry each reads the code itself."""
    rows = BytePositions(positions).encode([word])
    model = Kronecker(2, positions, published=True).double()
    with torch.no_grad():
        model.table.weight.zero_()
        model.table.weight[int(rows[0, 0]), 0] = 1.0  # in the code
        model.table.weight[255 * positions + 1, 1] = 1.0  # a byte that no text has
    found = model.embed_types(torch.from_numpy(rows))[0].tolist()
    assert found == pytest.approx([on, off], rel=1e-4)


def test_the_budget_counts_seven_positions() -> None:
    assert Kronecker(128, 7).embedding_parameters() == 230_016
