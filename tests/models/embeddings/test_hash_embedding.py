"""Hash embeddings: e(w) = sum of factors times rows (Svenstrup et al. 2017, section 3)."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.hash_embedding import MODELS, HashEmbedding
from hashbench.models.embeddings.registry import build_embedding, find_model
from hashbench.running.efficiency.parameters import count
from hashbench.running.training.recipe import adamw

WORDS = ["cat", "Cat", "日本", "", "x" * 1000]


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.name)
def test_vectors_are_weighted_sums(spec) -> None:
    embedding = build_embedding(spec, 12)
    codes = torch.from_numpy(make_coder(spec.code.coder, **spec.code.args).encode(WORDS))
    for vector, (first, *rows) in zip(embedding.embed_types(codes), codes.tolist(), strict=True):
        factors = [1.0] * len(rows) if embedding.factors is None else embedding.factors.weight[first].tolist()
        expected = sum(factor * embedding.pool.weight[row] for factor, row in zip(factors, rows, strict=True))
        torch.testing.assert_close(vector, expected)


@pytest.mark.parametrize(
    ("dim", "factor_rows", "buckets", "hashes", "published"),
    [
        (20, 10**7, 10**6, 2, 40_000_000),  # the paper's "40M"
        (128, 50_265, 1_000, 2, 228_530),
        (768, 50_265, 1_000, 2, 868_530),
    ],
)
def test_published_counts(dim: int, factor_rows: int, buckets: int, hashes: int, published: int) -> None:
    with torch.device("meta"):
        embedding = HashEmbedding(dim, buckets, hashes, factor_rows)
    assert embedding.embedding_parameters() - embedding.specials.numel() == published


def test_a_token_uses_its_rows_and_factors_alone() -> None:
    spec = find_model("hash-emb-k2")
    embedding = build_embedding(spec, 16)
    codes = torch.from_numpy(make_coder(spec.code.coder, **spec.code.args).encode(["cat"]))
    assert embedding.active_parameters(codes) == 2 * 16 + 2
    assert count(spec, "tiny").embedding == 1_000 * 128 + 50_000 * 2 + 5 * 128


def test_factors_are_not_decayed() -> None:
    embedding = build_embedding(find_model("hash-emb-k2").small(), 16)
    optimizer = adamw(embedding, learning_rate=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
    decays = {id(each): group["weight_decay"] for group in optimizer.param_groups for each in group["params"]}
    assert decays[id(embedding.factors.weight)] == 0.0
    assert decays[id(embedding.pool.weight)] == decays[id(embedding.specials)] == 0.1


def test_the_papers_start() -> None:
    torch.manual_seed(0)
    embedding = HashEmbedding(64, 2_000, 2, 2_000, init="paper")
    assert embedding.pool.weight.std().item() == pytest.approx(0.1, rel=0.05)
    assert embedding.factors.weight.std().item() == pytest.approx(0.0005, rel=0.05)
    with pytest.raises(InputError, match="init 'zero'; choose suite or paper"):
        HashEmbedding(8, init="zero")
