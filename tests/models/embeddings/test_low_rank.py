"""The factorised table against its product, its counts, and its tied output."""

from __future__ import annotations

import torch

from hashbench.models.embeddings.low_rank import LowRankTable


def test_vectors_are_rows_of_the_product() -> None:
    torch.manual_seed(0)
    table = LowRankTable(6, 20, 3)
    product = table.weight @ table.map.weight.T  # (V, d)
    torch.testing.assert_close(table.embed_types(torch.tensor([[7], [19]])), product[[7, 19]])
    torch.testing.assert_close(table.special_rows(), product[:5])
    torch.testing.assert_close(table.output_matrix(), product)


def test_published_count() -> None:
    with torch.device("meta"):
        assert LowRankTable(128, 50_265, 16).embedding_parameters() == 804_240 + 2_048


def test_a_narrowed_table_gives_what_the_whole_one_gives() -> None:
    torch.manual_seed(0)
    table, codes = LowRankTable(6, 20, 3), torch.tensor([[7], [19], [7]])
    expected = table.embed_types(codes)
    table.narrow(codes)
    assert len(table.weight) == 7
    torch.testing.assert_close(table.embed_types(codes), expected)
    table.widen()
    assert table.weight.shape == (20, 3)
