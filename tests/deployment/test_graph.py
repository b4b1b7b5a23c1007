"""Inputs of a graph: filled up with padding to a length that it takes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hashbench.deployment.loading import load
from hashbench.deployment.onnx_graph import filled_length, graph_inputs, trace
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import END, PAD, START, Batch, Template
from tests.exported import exported_folder


def predictor_of(graph_multiple: int, *, segments: bool = False) -> Any:
    """As much of a predictor as its inputs need."""
    return SimpleNamespace(
        model=SimpleNamespace(encoder=SimpleNamespace(graph_multiple=graph_multiple)),
        spec=SimpleNamespace(text=SimpleNamespace(template=Template(segments=segments))),
        config=SimpleNamespace(is_pair=segments),
        coder=make_coder("hash-rows"),
    )


@pytest.mark.parametrize(("multiple", "length"), [(1, 3), (4, 4), (8, 8)])
def test_a_text_below_the_shortest_length_is_filled_up_with_padding(multiple: int, length: int) -> None:
    positions = torch.tensor([[START, END], [START, 5]])
    batch = Batch(
        torch.zeros(1, 3, dtype=torch.int64), positions, positions != PAD, segments=torch.tensor([[0, 1]] * 2)
    )
    codes, filled = graph_inputs(predictor_of(multiple), batch)
    assert filled.tolist() == [[START, END, *[PAD] * (length - 2)], [START, 5, *[PAD] * (length - 2)]]
    assert torch.equal(codes, batch.codes) and filled_length(2, multiple) == length
    *_, segments = graph_inputs(predictor_of(multiple, segments=True), batch)
    assert segments.tolist() == [[0, 1, *[0] * (length - 2)]] * 2


@pytest.mark.parametrize(("model", "multiple"), [("hashformer-md-proj", 1), ("canine-c-scratch", 128)])
def test_the_longest_input_of_a_graph_is_the_encoders(model: str, multiple: int, tmp_path: Path) -> None:
    predictor = load(exported_folder(model, tmp_path / "out", small=True))
    traced = trace(predictor)
    assert traced.length_multiple == multiple
    assert traced.max_length == predictor.model.encoder.max_length
