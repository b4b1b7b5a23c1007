"""ByT5's table."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.embeddings.base import stored
from hashbench.models.embeddings.bytes import ByteTable


@pytest.mark.parametrize(("dim", "count"), [(128, 33_152), (768, 198_912)])
def test_it_is_counted_as_published_and_stores_two_rows_more(dim: int, count: int) -> None:
    """259 d of ByT5, of 261 d."""
    embedding = ByteTable(dim)
    assert embedding.embedding_parameters() == count and stored(embedding) == count + 2 * dim


def test_the_last_byte_has_the_last_row() -> None:
    embedding = ByteTable(4)
    assert torch.equal(embedding.embed_types(torch.tensor([[260]]))[0], embedding.weight[260])
