"""Spreads of named models at the start, against what their equations and initial weights give."""

from __future__ import annotations

import math

import pytest

from hashbench.models.embeddings.registry import find_model
from hashbench.running.efficiency.sizes import spreads_at_start

ROW = 0.0176  # of a row: normal with 0.02, cut at two standard deviations


@pytest.mark.parametrize(
    ("name", "spread"),
    [
        ("bert-mlm", ROW),
        ("hash-emb-k2-sum", math.sqrt(2) * ROW),
        ("hashformer-md-proj", 1 / math.sqrt(127)),  # a correlation of 128 bits
        ("hashformer-md-add", ROW / math.sqrt(2)),  # half of its sum is the same for all words
        ("tfree-1k", None),
    ],
)
def test_spread_is_that_of_the_equation(name: str, spread: float | None) -> None:
    found = spreads_at_start(find_model(name), "tiny")
    assert found is not None and found.positions == pytest.approx(ROW, rel=0.02)
    assert found.words == pytest.approx(spread, rel=0.03) if spread is not None else found.words > 0.2
    assert found.ratio == found.words / found.positions


def test_models_without_position_vectors_have_no_ratio_and_others_are_not_measured() -> None:
    projected = spreads_at_start(find_model("sgnn"), "tiny")
    assert projected is not None and projected.positions is None and projected.ratio is None
    assert spreads_at_start(find_model("bert-base-uncased"), "tiny") is None
    assert spreads_at_start(find_model("superbloom-a50"), "tiny") is None
