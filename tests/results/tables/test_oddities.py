"""Constant predictions and unknown tokens are counted under a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hashbench.results.tables.report import tables
from hashbench.store.result import Result
from tests.results.claims.world import Answers, build

MANY = "40 of 100 tokens of validation (40.0 %)"


@dataclass(frozen=True)
class OneClassOfFewTokens(Answers):
    """Says the first class of every example, and does not know four tokens of ten."""

    def result(self) -> Result:
        result = super().result()
        kept = [replace(each, outputs=np.tile([0.7, 0.3], (self.n, 1))) for each in result.predictions]
        return replace(result, predictions=kept, notes={**result.notes, "unknown_tokens": MANY})


def test_both_are_counted_by_model_and_task(tmp_path: Path) -> None:
    runs = [Answers("bert-mlm", 0.8), OneClassOfFewTokens("bert-sr", 0.5), Answers("majority", 0.5, None)]
    facts = dict(tables(build(tmp_path / "r.db", runs))[0].provenance)
    assert facts["constant predictions"] == "bert-sr: sst2 1 of 1 seeds"
    assert facts["unknown tokens"] == f"bert-sr on sst2: {MANY}"


def test_nothing_is_said_where_nothing_is_odd(tmp_path: Path) -> None:
    facts = dict(tables(build(tmp_path / "r.db", [Answers("bert-mlm", 0.8)]))[0].provenance)
    assert not {"constant predictions", "unknown tokens"} & set(facts)
