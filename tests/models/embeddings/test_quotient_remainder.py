"""Quotient and remainder: pairs, combinations, counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.quotient_remainder import QuotientRemainder


@pytest.mark.parametrize(("number", "pair"), [(0, (0, 0)), (224, (0, 224)), (225, (1, 0)), (50_264, (223, 89))])
def test_published_pairs(number: int, pair: tuple[int, int]) -> None:
    embedding = QuotientRemainder(8)
    assert tuple(part.item() for _, part in embedding.tables(torch.tensor([[number]]))) == pair


def test_every_number_has_a_pair_of_its_own() -> None:
    embedding = QuotientRemainder(8, 100, 7)
    (_, quotients), (_, remainders) = embedding.tables(torch.arange(100)[:, None])
    assert len(set(zip(quotients[:, 0].tolist(), remainders[:, 0].tolist(), strict=True))) == 100


@pytest.mark.parametrize("combine", ["mult", "add", "concat"])
def test_vectors_combine_both_rows(combine) -> None:
    torch.manual_seed(0)
    embedding = QuotientRemainder(6, 100, 7, combine)
    first, second = embedding.quotients.weight[52 // 7], embedding.remainders.weight[52 % 7]
    if combine == "concat":
        expected = torch.cat([first, second])
    else:
        expected = first * second if combine == "mult" else first + second
    torch.testing.assert_close(embedding.embed_types(torch.tensor([[52]]))[0], expected)


def test_pieces_with_one_quotient_begin_with_vectors_that_differ() -> None:
    torch.manual_seed(0)
    vectors = QuotientRemainder(64).embed_types(torch.arange(200)[:, None])  # all of quotient 0
    alike = torch.nn.functional.cosine_similarity(vectors[:100], vectors[100:], dim=1)
    assert alike.abs().mean() < 0.3  # 0.999 with remainders near 1
    assert 0.01 < vectors.std() < 0.03  # the scale of a plain table's rows


@pytest.mark.parametrize(("dim", "collisions", "count"), [(128, 225, 57_472), (768, 225, 344_832), (128, 4, 1_609_088)])
def test_published_counts(dim: int, collisions: int, count: int) -> None:
    with torch.device("meta"):
        embedding = QuotientRemainder(dim, 50_265, collisions)
    assert embedding.embedding_parameters() - 5 * dim == count


@pytest.mark.parametrize(("dim", "combine"), [(8, "product"), (7, "concat")])
def test_wrong_combinations(dim: int, combine) -> None:
    with pytest.raises(InputError, match="choose mult, add, or concat at an even one"):
        QuotientRemainder(dim, combine=combine)
