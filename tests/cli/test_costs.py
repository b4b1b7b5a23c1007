"""`costs`: memory and multiply-adds beside BERT."""

from __future__ import annotations

import json

from tests.cli.commands import Run


def test_costs_beside_bert(run: Run) -> None:
    """Table 1 of ProFormer: 92.16 MB against 1.7 KB, 16 x fewer scores with K = 4, and what that leaves of all work."""
    rows = json.loads(run("costs", "proformers", "--format", "json").out)
    bert, one, four = rows
    assert [row["model"] for row in rows] == ["bert-base (table 1)", "proformer", "proformer-k4"]
    assert [row["embedding_bytes_printed"] for row in rows] == [92_160_000, 1_680, 1_680]
    assert four["embedding_bytes_whole"] == 1_680 + 4 * 322_560
    assert one["attention_scores"] == 16 * four["attention_scores"]
    assert bert["times_less_than_bert"] == 1 and 5.8 < one["times_less_than_bert"] < 6 and four["madds_groups"] > 0
