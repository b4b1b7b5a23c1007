"""Mean of trained n-gram rows against its definition and counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.coders.ngram_buckets import NgramBuckets
from hashbench.models.embeddings.ngram_bucket import BucketMean


@pytest.mark.parametrize("width", [None, 4])
def test_a_vector_is_the_mean_of_its_rows(width) -> None:
    torch.manual_seed(0)
    embedding = BucketMean(6, 40, width=width)
    codes = torch.from_numpy(NgramBuckets(40).encode(["cat", "a", "x" * 100]))
    for vector, code in zip(embedding.embed_types(codes), codes.tolist(), strict=True):
        mean = torch.stack([embedding.table.weight[row] for row in code if row >= 0]).mean(0)
        torch.testing.assert_close(vector, mean if width is None else embedding.map.weight @ mean)


@pytest.mark.parametrize(("buckets", "dim", "count"), [(50_000, 128, 6_400_000), (50_000, 768, 38_400_000)])
def test_published_counts(buckets: int, dim: int, count: int) -> None:
    with torch.device("meta"):
        embedding = BucketMean(dim, buckets)
    assert embedding.embedding_parameters() == count + 5 * dim
