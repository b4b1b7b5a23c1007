"""Deep hash embedding: its numbers, its layers, its counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.coders.rows import WordKeys
from hashbench.models.embeddings.dhe import HASH_RANGE, DeepHash, hash_numbers
from tests.oracles import keys

WORDS = ["cat", "", "日本", "x" * 100]


def test_published_numbers() -> None:
    numbers = hash_numbers(torch.from_numpy(WordKeys().encode(["cat"])), 4, HASH_RANGE)
    assert numbers.tolist() == [[989891, 995646, 54828, 313537]]
    values = 2.0 * numbers / (HASH_RANGE - 1) - 1.0
    torch.testing.assert_close(values[0], torch.tensor([0.979784, 0.991294, -0.890344, -0.372925]), atol=1e-6, rtol=0)


def test_any_word_equals_plain_python() -> None:
    found = hash_numbers(torch.from_numpy(WordKeys().encode(WORDS)), 9, 12_345)
    assert found.tolist() == [[keys.hashed(keys.key(word), i) % 12_345 for i in range(9)] for word in WORDS]


def test_vectors_are_layers_of_the_numbers() -> None:
    torch.manual_seed(0)
    embedding = DeepHash(6, hidden=5, layers=2, hashes=7)
    codes = torch.from_numpy(WordKeys().encode(WORDS))
    for vector, word in zip(embedding.embed_types(codes), WORDS, strict=True):
        x = torch.tensor([2 * (keys.hashed(keys.key(word), i) % HASH_RANGE) / (HASH_RANGE - 1) - 1 for i in range(7)])
        for linear, *_ in embedding.hidden:
            y = linear.weight @ x + linear.bias
            y = (y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt()
            x = y * torch.tanh(torch.log1p(y.exp()))
        torch.testing.assert_close(vector, embedding.last.weight @ x + embedding.last.bias)


@pytest.mark.parametrize(
    ("dim", "hidden", "layers", "hashes", "count"),
    [(768, 1_024, 2, 1_024, 2_886_400), (128, 128, 1, 128, 33_024), (32, 1_800, 5, 1_024, 14_869_832)],
)
def test_published_counts(dim: int, hidden: int, layers: int, hashes: int, count: int) -> None:
    with torch.device("meta"):
        embedding = DeepHash(dim, hidden, layers, hashes)
    assert embedding.embedding_parameters() - 5 * dim == count
