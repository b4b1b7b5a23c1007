"""`check --measure` measures the weights that a training really begins with."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep import word_spreads
from hashbench.running.sweep.plan import plan

MODELS = "models: [bert-mlm, hashformer-md-proj]\n"


def test_spreads_are_measured_once_and_noted_where_models_begin_far_apart(experiment: Any) -> None:
    resolved = plan(experiment(MODELS)).resolved
    assert word_spreads.rows(resolved) == [] and word_spreads.notes(resolved) == []
    one = plan(experiment(MODELS, "models=[hashformer-md-proj]")).resolved
    word_spreads.take(one, Materials(one.sources, cache_folder(), one.tasks))
    first, second = word_spreads.rows(resolved)
    assert first == {"model": "bert-mlm", "spread": word_spreads.NOT_MEASURED}
    assert second["spread"] == pytest.approx(0.0885, rel=0.02) and second["positions_spread"] == 0.0176
    word_spreads.take(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))
    assert word_spreads.rows(resolved)[1] == second
    (note,) = word_spreads.notes(resolved)
    assert note.startswith("word vectors of hashformer-md-proj begin 5") and note.endswith(word_spreads.REMEDY)


def test_matched_models_begin_alike(experiment: Any) -> None:
    resolved = plan(experiment("initial_spread: matched\n" + MODELS)).resolved
    word_spreads.take(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))
    assert [row["spread_ratio"] for row in word_spreads.rows(resolved)] == [1.0, 1.0]
    assert word_spreads.notes(resolved) == []
