"""Hashed n-grams over neighbours: rows by plain integers, sums, counts, and their options."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.over_encoding import BigramHash, NgramTables
from hashbench.models.embeddings.registry import build_embedding, find_model

MASK_31 = 2**31


def windows(ids: list[int], n: int, missing: int) -> list[list[int]]:
    """The numbers of each n-gram, the last token first."""
    return [[ids[t - q] if t >= q else missing for q in range(n)] for t in range(len(ids))]


def rows_of(embedding: NgramTables | BigramHash, ids: list[int]) -> list[list[int]]:
    found = []
    for (_, order), (table, _) in zip(embedding.places, embedding.reads(), strict=True):
        parts = [torch.tensor([window]) for window in zip(*windows(ids, order, embedding.missing), strict=True)]
        found.append(embedding.hashed(parts, table.num_rows)[0].tolist())
    return found


def over_table(family: type, rows: int, dim: int = 8, **arguments: Any) -> Any:
    return family(dim, LookupTable(dim, rows), **arguments)


def test_rows_of_longcat() -> None:
    """V = 1000, m = 4000, k = 2, N = 3: moduli 4001, 4003, 4005, 4007, worked out by hand."""
    embedding = over_table(NgramTables, 1_000, ratio=4)
    assert [table.num_rows for table, _ in embedding.reads()] == [4001, 4003, 4005, 4007]
    assert rows_of(embedding, [5, 7, 11, 7]) == [
        [5, 1006, 3010, 3005],
        [5, 1004, 3008, 3001],
        [5, 1002, 761, 2257],
        [5, 1000, 2268, 2764],
    ]


def test_rows_of_over_encoding() -> None:
    embedding = over_table(NgramTables, 1_000, ratio=4, form="over-encoding", splits=1)
    ids, moduli = [5, 7, 999, 7], [4000, 4002]
    expected = [
        [sum(x * 1000**q for q, x in enumerate(window)) % modulus for window in windows(ids, n, 0)]
        for n, modulus in zip((2, 3), moduli, strict=True)
    ]
    assert [table.num_rows for table, _ in embedding.reads()] == moduli
    assert rows_of(embedding, ids) == expected


def test_rows_of_hashed_words_are_exact() -> None:
    embedding = build_embedding(find_model("longcat-md-proj"), 16)
    assert isinstance(embedding, NgramTables)
    ids = [2**31 - 2, 2**31 - 3, 12345, 2**30]
    expected = [
        [sum(x * MASK_31**q for q, x in enumerate(window)) % (10_000 + 2 * i + 1) for window in windows(ids, n, 0)]
        for i, n in enumerate((2, 2, 3, 3))
    ]
    assert rows_of(embedding, ids) == expected


def test_rows_of_bigram_hash() -> None:
    embedding = over_table(BigramHash, 50_304, width=8, num_buckets=251_520)
    assert rows_of(embedding, [464, 2068, 7586, 21831]) == [[251519, 28927, 57630, 129154]]


def test_rows_of_bigram_hash_of_hashed_words_and_triples() -> None:
    embedding = build_embedding(find_model("bigram-md-proj").with_args(embedding={"orders": 3}), 16)
    assert isinstance(embedding, BigramHash)
    a, b, c = ids = [2**31 - 2, 2**31 - 3, 12345]
    pairs = [9_999, (36313 * b ^ 27191 * a) % 9_999, (36313 * c ^ 27191 * b) % 9_999]
    assert rows_of(embedding, ids) == [pairs, [9_999, 9_999, (36313 * c ^ 27191 * b ^ 18731 * a) % 9_999]]


def batch_of(rows: list[list[int]]) -> Batch:
    positions = torch.tensor([[row + 5 if row >= 0 else PAD for row in each] for each in rows])
    return Batch(torch.arange(10, 30)[:, None], positions, positions != PAD)


@pytest.mark.parametrize("average", [False, True])
def test_a_vector_is_the_sum_of_its_parts(average: bool) -> None:
    torch.manual_seed(0)
    embedding = over_table(NgramTables, 40, ratio=2, average=average)
    ids = [10, 13, 11]  # rows of the vocabulary
    found = embedding(batch_of([[0, 3, 1]]))[0]
    for t, vector in enumerate(found):
        expected = embedding.base.weight[ids[t]].clone()
        for i, n in enumerate((2, 2, 3, 3)):
            modulus = 80 + 2 * i + 1
            row = sum(x * 40**q for q, x in enumerate(windows(ids, n, 0)[t])) % modulus
            expected += embedding.maps[i].weight @ embedding.ngrams[i].weight[row]
        torch.testing.assert_close(vector, expected / 5 if average else expected)


def test_bigram_hash_begins_as_what_is_below_and_adds_its_row() -> None:
    torch.manual_seed(0)
    embedding = over_table(BigramHash, 40, width=4, num_buckets=30)
    batch = batch_of([[0, 3]])
    below = embedding.base(batch)
    torch.testing.assert_close(embedding(batch), below)
    with torch.no_grad():
        embedding.ngrams[0].weight.normal_()
        embedding.factor.fill_(0.5)
    row = (36313 * 13 ^ 27191 * 10) % 29
    added = 0.5 * embedding.map.weight @ embedding.ngrams[0].weight[row]
    torch.testing.assert_close(embedding(batch)[0, 1], below[0, 1] + added)
    torch.testing.assert_close(
        embedding(batch)[0, 0], below[0, 0] + 0.5 * embedding.map.weight @ embedding.ngrams[0].weight[29]
    )


def test_both_windows_read_neighbours_of_either_side() -> None:
    torch.manual_seed(0)
    left, both = (over_table(NgramTables, 40, ratio=2, window=window) for window in ("left", "both"))
    first, second = batch_of([[0, 3, 1]]), batch_of([[0, 3, 2]])
    torch.testing.assert_close(left(first)[0, :2], left(second)[0, :2])
    assert not torch.allclose(both(first)[0, 1], both(second)[0, 1])
    assert len(both.ngrams) == 2 * len(left.ngrams)


@pytest.mark.parametrize("family", [NgramTables, BigramHash])
def test_padding_on_the_right_is_what_lies_behind_the_end(family: type) -> None:
    torch.manual_seed(0)
    embedding = over_table(family, 40, ratio=2, window="both")
    for table, _ in embedding.reads():
        torch.nn.init.normal_(table.weight)
    torch.testing.assert_close(embedding(batch_of([[0, 3, 1, -1, -1]]))[0, :3], embedding(batch_of([[0, 3, 1]]))[0])


def test_signs_tell_apart_pairs_that_share_a_row() -> None:
    torch.manual_seed(0)
    embedding = over_table(NgramTables, 40, num_buckets=1, orders=2, splits=1, signs=64)
    (table,) = (each for each, _ in embedding.reads())
    assert table.num_rows == 2  # m + 2 i + 1
    rows = list(embedding.looked_up(batch_of([[0, 3, 1, 7, 9, 2]])))[0][0]
    assert set(map(tuple, rows.abs().detach().tolist())) <= set(map(tuple, table.weight.abs().detach().tolist()))
    assert len(set(map(tuple, rows.detach().tolist()))) > 2


def count(family: type, rows: int, dim: int, **arguments: Any) -> int:
    with torch.device("meta"):
        embedding = over_table(family, rows, dim, **arguments)
    return sum(each.numel() for each in embedding.parameters()) - rows * dim


def test_published_counts() -> None:
    assert count(NgramTables, 50_265, 128, num_buckets=12_000) == 1_552_896
    assert count(NgramTables, 50_265, 768, splits=4) == 39_199_488
    assert count(BigramHash, 1_024, 512, num_buckets=10_240) == 1_310_720 + 65_536 + 1
    assert count(BigramHash, 50_304, 768, num_buckets=251_520, width=768) == 251_520 * 768 + 1


def test_costs_of_a_token() -> None:
    embedding = over_table(NgramTables, 1_000, 128)
    code = torch.tensor([[7]])
    assert embedding.active_parameters(code) == 128 + 4 * (32 + 32 * 128)
    assert embedding.multiply_adds() == 4 * 32 * 128
    assert over_table(BigramHash, 1_000, 128).active_parameters(code) == 128 + 128 + 1


@pytest.mark.parametrize(
    ("family", "arguments", "message"),
    [
        (NgramTables, {"form": "short"}, "form 'short', orders 3; choose longcat or over-encoding"),
        (NgramTables, {"orders": 1}, "orders 1; choose"),
        (NgramTables, {"splits": 0}, "splits 0 is no whole number from 1"),
        (NgramTables, {"ratio": 0.001}, "num_buckets 0 is no whole number from 1"),
        (BigramHash, {"orders": 4}, "orders 4; choose 2 or 3"),
        (BigramHash, {"width": 0}, "width 0 is no whole number"),
    ],
)
def test_arguments_out_of_range(family: type, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        over_table(family, 40, **arguments)


def test_without_a_vocabulary_the_rows_must_be_given() -> None:
    spec = find_model("longcat-md-proj").with_args(embedding={"num_buckets": None})
    with pytest.raises(InputError, match="Projection has no vocabulary that rows could follow; set num_buckets"):
        build_embedding(spec, 16)
