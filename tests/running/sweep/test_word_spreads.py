"""`check --measure` measures the weights that a training really begins with."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.efficiency.sizes import Spreads
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.measuring import MATCH_THEM, spread_notes, spread_rows, spreads_of
from hashbench.running.sweep.plan import plan

MODELS = "models: [bert-mlm, hashformer-md-proj]\n"


def measured(loaded: Any) -> dict[str, Spreads]:
    resolved = plan(loaded).resolved
    return spreads_of(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))


def test_models_that_begin_far_apart_are_noted(experiment: Any) -> None:
    spreads = measured(experiment(MODELS))
    second = spread_rows(spreads)[1]
    assert second["model"] == "hashformer-md-proj"
    assert second["spread"] == pytest.approx(0.0885, rel=0.02) and second["positions_spread"] == 0.0176
    (note,) = spread_notes(spreads)
    assert note.startswith("word vectors of hashformer-md-proj begin 5") and note.endswith(MATCH_THEM)


def test_matched_models_begin_alike(experiment: Any) -> None:
    spreads = measured(experiment("initial_spread: matched\n" + MODELS))
    assert [row["spread_ratio"] for row in spread_rows(spreads)] == [1.0, 1.0]
    assert spread_notes(spreads) == []
