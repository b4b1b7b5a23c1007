"""T-FREE's sums, start and counts."""

from __future__ import annotations

import math

import pytest
import torch

from hashbench.models.coders.byte_ngrams import Trigrams
from hashbench.models.embeddings.registry import find_model
from hashbench.models.embeddings.tfree import TrigramSum
from hashbench.models.text.base import make_tokenizer


def test_a_vector_is_the_sum_of_the_rows_of_all_trigrams() -> None:
    torch.manual_seed(0)
    embedding = TrigramSum(6, 40)
    codes = torch.from_numpy(Trigrams(40, 3).encode(["cat", "banana"]))
    for vector, code in zip(embedding.embed_types(codes), codes.tolist(), strict=True):
        torch.testing.assert_close(vector, sum(embedding.table.weight[row] for row in code if row >= 0))


@pytest.mark.parametrize(
    ("buckets", "dim", "count"), [(8_000, 128, 1_024_000), (8_000, 768, 6_144_000), (32_000, 768, 24_576_000)]
)
def test_published_counts(buckets: int, dim: int, count: int) -> None:
    with torch.device("meta"):
        embedding = TrigramSum(dim, buckets)
    assert embedding.embedding_parameters() == count + 5 * dim


def test_rows_begin_as_they_are_published() -> None:
    torch.manual_seed(0)
    assert TrigramSum(64, 5_000).table.weight.std().item() == pytest.approx(math.sqrt(2 / (5 * 64)), rel=0.01)


def test_digits_and_marks_are_words_of_their_own() -> None:
    text = find_model("tfree-8k").text
    tokens = make_tokenizer(text.tokenizer, **text.args).tokenize("It's snake_case, 42 Names!")
    assert tokens == ["It", "'", "s", "snake", "_", "case", ",", "4", "2", "Names", "!"]
