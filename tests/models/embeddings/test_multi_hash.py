"""spaCy's MultiHashEmbed against its definition and its published counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.word_features import WordFeatures, table_rows
from hashbench.models.embeddings.multi_hash import MultiHash


@pytest.mark.parametrize("mix", ["maxout", "linear"])
def test_a_vector_is_the_normalised_maximum_of_the_pieces(mix) -> None:
    torch.manual_seed(0)
    features = ["norm", "suffix"]
    embedding = MultiHash(6, 40, features, hashes=3, width=5, mix=mix)
    codes = torch.from_numpy(WordFeatures(40, features, hashes=3).encode(["cat", "Apple"]))
    for vector, code in zip(embedding.embed_types(codes), codes.tolist(), strict=True):
        sums = [
            torch.stack([table.weight[row] for row in code[3 * f : 3 * f + 3]]).sum(0)
            for f, table in enumerate(embedding.features)
        ]
        mixed = embedding.mix.weight @ torch.cat(sums) + embedding.mix.bias
        z = mixed.view(embedding.pieces, 6).max(0).values
        expected = (z - z.mean()) / (z.var(correction=0) + 1e-5).sqrt()
        torch.testing.assert_close(vector, expected)


@pytest.mark.parametrize(
    ("width", "tables", "maxout", "norm"),
    [(96, 1_056_000, 110_880, 192), (128, 1_408_000, 196_992, 256), (768, 8_448_000, 7_080_192, 1_536)],
)
def test_published_counts(width: int, tables: int, maxout: int, norm: int) -> None:
    with torch.device("meta"):
        embedding = MultiHash(width, width=width)
    assert sum(table.weight.numel() for table in embedding.features) == tables
    assert sum(p.numel() for p in embedding.mix.parameters()) == maxout == embedding.multiply_adds() + 3 * width
    assert sum(p.numel() for p in embedding.norm.parameters()) == norm
    assert embedding.embedding_parameters() == tables + maxout + norm + 5 * width
    assert table_rows(5_000, ["norm", "shape"]) == [5_000, 2_500]


def test_a_wrong_mix() -> None:
    with pytest.raises(InputError, match="mix 'max'; choose maxout or linear"):
        MultiHash(8, mix="max")
