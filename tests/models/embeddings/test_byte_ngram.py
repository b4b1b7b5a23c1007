"""BLT's byte vectors, pooled over a word, against their definition and counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.byte_ngrams import ByteNgrams
from hashbench.models.embeddings.byte_ngram import ByteNgramPool


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_a_vector_is_pooled_over_the_bytes_of_the_word(pooling, normalise) -> None:
    torch.manual_seed(0)
    embedding = ByteNgramPool(6, 40, [2, 3], pooling=pooling, normalise=normalise)
    codes = torch.from_numpy(ByteNgrams(40, [2, 3]).encode(["cat", "", "x" * 100]))
    tables, divisor = [embedding.bytes, *embedding.ngrams], 3 if normalise else 1
    for vector, code in zip(embedding.embed_types(codes), codes.view(3, -1, 3).tolist(), strict=True):
        positions = [
            sum(table.weight[row] for table, row in zip(tables, rows, strict=True) if row >= 0) / divisor
            for rows in code
            if rows[0] >= 0
        ]
        stacked = torch.stack(positions)
        torch.testing.assert_close(vector, stacked.max(0).values if pooling == "max" else stacked.mean(0))


@pytest.mark.parametrize(
    ("dim", "buckets", "sizes", "count"),
    [
        (1024, 500_002, range(3, 9), 3_072_012_288), (768, 500_002, range(3, 9), 2_304_208_896),
        (128, 50_000, range(3, 9), 38_433_280), (128, 5_000, [3, 4, 5], 1_953_280),
    ],
)  # fmt: skip
def test_published_counts(dim: int, buckets: int, sizes, count: int) -> None:
    """Tables of n-grams; the first two sheets leave the 260 bytes out."""
    with torch.device("meta"):
        embedding = ByteNgramPool(dim, buckets, list(sizes))
    tables = embedding.embedding_parameters() - 5 * dim
    assert count in (tables, tables - 260 * dim)


def test_a_wrong_pooling() -> None:
    with pytest.raises(InputError, match="pooling 'first'; choose max or mean"):
        ByteNgramPool(8, pooling="first")
