"""Table 1 of ProFormer: the printed numbers, and the ratios that all multiply-adds give."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from hashbench.common.errors import InputError
from hashbench.models.embeddings.registry import find_model, models
from hashbench.results.papers.paper import PUBLISHED
from hashbench.running.efficiency.parameters import count
from hashbench.running.efficiency.sizes import (
    PAPER_BERT,
    Bytes,
    Shape,
    attention_scores,
    embedding_bytes,
    multiply_adds,
    shape_of,
)

K1 = Shape(layers=2, dim=768, feed_forward=3072, bits=420)
K4 = replace(K1, group=4)
# In words, of the inputs whose operations claims compare, as claims.csv has them: 16 to 512.
LENGTHS = (16, 32, 64, 128, 256, 512)


def ratios(one: Shape, other: Shape) -> list[float]:
    """Multiply-adds of one over those of the other, from 16 to 512 words."""
    return [multiply_adds(one, n).total / multiply_adds(other, n).total for n in LENGTHS]


def text(shape: Shape) -> Shape:
    """The same with the intermediate size of the paper's text."""
    return replace(shape, feed_forward=768)


def test_the_printed_memory() -> None:
    """92.16 MB and 1.7 KB."""
    assert embedding_bytes(PAPER_BERT) == Bytes(92_160_000, 92_160_000)
    assert embedding_bytes(K1).printed == 1_680


def test_the_whole_memory_has_the_trained_map() -> None:
    assert embedding_bytes(K1).whole - 1_680 == 4 * count(find_model("proformer")).embedding == 1_290_240


def test_the_printed_saving() -> None:
    """16 x with K = 4."""
    assert [attention_scores(K1, n) / attention_scores(K4, n) for n in LENGTHS] == [16] * 6


def test_one_input_by_hand() -> None:
    """N = 4, d = 2, I = 3, T = 5, K = 2, one layer over n = 2 vectors."""
    found = multiply_adds(Shape(layers=1, dim=2, feed_forward=3, bits=5, group=2), 4)
    assert (found.projection, found.groups, found.layers) == (4 * 5 * 2, 4 * 4 * 4 + 2 * 4 * 2 * 2, 32 + 16 + 24)
    assert found.total == 40 + 96 + 72


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        (K1, K4, 2.3, 2.5),
        (text(K1), text(K4), 1.7, 2.0),
        (PAPER_BERT, K4, 14, 15),
        (PAPER_BERT, text(K4), 19, 21),
        (PAPER_BERT, K1, 5.9, 5.9),
        (PAPER_BERT, text(K1), 10.5, 11.4),
        (replace(PAPER_BERT, layers=2), K4, 2.3, 2.5),
    ],
)
def test_ratios_of_all_multiply_adds(one: Shape, other: Shape, low: float, high: float) -> None:
    """Far from 16: lowest and highest from 16 to 512 words, to the digits given."""
    digits = 0 if low >= 12 else 1
    assert (round(min(ratios(one, other)), digits), round(max(ratios(one, other)), digits)) == (low, high)


def test_the_layers_alone_save_four_to_four_and_a_half() -> None:
    """With either intermediate size."""
    pairs = [(K1, K4), (text(K1), text(K4))]
    layers = [multiply_adds(one, n).layers / multiply_adds(four, n).layers for one, four in pairs for n in LENGTHS]
    assert (round(min(layers), 1), round(max(layers), 1)) == (4.0, 4.6)


@pytest.mark.parametrize("length", [0, 30, -4])
def test_a_length_that_is_no_multiple_of_the_group(length: int) -> None:
    with pytest.raises(InputError, match=rf"^length {length} is no positive multiple of K = 4; choose one that is$"):
        multiply_adds(K4, length)


def operation_rows() -> list[dict[str, str]]:
    """Operations of every registered model whose costs are known, at base."""
    rows = []
    for name, spec in models().items():
        try:
            shape = shape_of(spec, "base")
        except InputError:
            continue
        for n in LENGTHS:
            scores, total = attention_scores(shape, n), multiply_adds(shape, n).total
            rows.append({"model": name, "length": str(n), "attention_scores": str(scores), "multiply_adds": str(total)})
    return rows


def test_the_operations_that_claims_read_are_those_of_the_registered_models() -> None:
    """A new model, or another shape, needs a new file: `operation_rows` are its rows."""
    written = csv.DictReader((PUBLISHED / "operations.csv").read_text(encoding="utf-8").splitlines())
    assert sorted(written, key=str) == sorted(operation_rows(), key=str)
