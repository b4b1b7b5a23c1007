"""What trainings need to know of a model's shape, counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hashbench.models.embeddings.registry import find_model
from hashbench.running.efficiency import outlines
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import Finetune, Pretrain


def model(name: str, vocabulary_size: int = 400) -> ResolvedModel:
    return ResolvedModel(name, find_model(name), Pretrain(vocabulary_size=vocabulary_size), Finetune(), ())


def test_a_model_is_counted_once_whatever_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlines.outline_of(model("hashformer-md-proj"), "tiny", 2)
    assert found.weights == count(find_model("hashformer-md-proj"), "tiny", n_classes=2, deployed=True).total
    assert (found.layers, found.dim, found.feed_forward) == (2.0, 128, 512)
    monkeypatch.setattr(outlines, "count", None)
    again = replace(model("hashformer-md-proj"), finetune=Finetune(epochs=7))
    assert outlines.outline_of(again, "tiny", 2) is found


def test_sizes_heads_and_learned_vocabularies_are_told_apart() -> None:
    small, large = (outlines.outline_of(model("bert-mlm", rows), "tiny") for rows in (400, 500))
    assert (small.output_rows, large.output_rows) == (400, 500) and large.weights - small.weights == 100 * small.dim
    assert outlines.outline_of(model("bert-mlm"), "tiny", 7).weights > small.weights
    assert outlines.outline_of(model("bert-mlm"), "mini").dim == 256
