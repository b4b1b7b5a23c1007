"""running/experiment/contract_remarks.py: what is told of an embedding that keeps its promises."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hashbench.models.embeddings.base import CodeSpec, Embedding, EmbeddingSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.experiment.contract_remarks import alike_at_the_start, parameters_left_out
from tests.running.experiment.test_contract import CountsLittle, Good


def test_a_small_count_is_told() -> None:
    def notes(embedding: type[Embedding]) -> list[str]:
        return parameters_left_out(ModelSpec("own", EmbeddingSpec(embedding), code=CodeSpec("md5-bits")))

    assert notes(Good) == []
    assert notes(CountsLittle) == ["embedding_parameters counts 7 of 352 parameters; tables print that number"]


class Faint(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return 1e-3 * super().embed_types(codes)


class Hidden(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return torch.ones(len(codes), 16) + 1e-3 * super().embed_types(codes)


@pytest.mark.parametrize("embedding", [Faint, Hidden])
def test_vectors_that_begin_nearly_alike_are_told(embedding: type[Embedding]) -> None:
    def notes(embedding: type[Embedding]) -> list[str]:
        return alike_at_the_start(ModelSpec("own", EmbeddingSpec(embedding), code=CodeSpec("md5-bits")))

    assert notes(Good) == []
    (note,) = notes(embedding)
    assert note.startswith("vectors of different types begin nearly alike: they differ by 0.000")


@pytest.mark.parametrize("name", [name for name, spec in models().items() if spec.free_size])
def test_families_at_equal_budgets_begin_with_vectors_that_differ(name: str) -> None:
    """Else a comparison of them compares how they begin."""
    assert alike_at_the_start(find_model(name)) == []
