"""results/tables/comparison.py: what must be said of the scores that are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.read.comparison import compare
from hashbench.results.tables.comparison import comparison_table
from hashbench.results.tables.numbers import legend
from tests.results.claims.world import Answers, build

RUNS = [
    Answers("strong", 0.9),
    Answers("weak", 0.4),
    Answers("majority", 0.5, None),
    *(Answers(name, right, seed, "rte") for name, right, seed in [("strong", 0.4, 0), ("weak", 0.9, 0)]),
    Answers("majority", 0.5, None, "rte"),
]


def test_scores_at_a_baseline_are_named_for_both_sides(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", RUNS)
    table = comparison_table(compare([store], "strong", "weak", draws=100))
    under = {(row.title, side) for row in table.rows for side in "ab" if row.cells[side].under == "majority"}
    assert under == {("rte", "a"), ("sst2", "b")}
    assert "†: not above the best trivial baseline" in legend(table, best="bold")


def test_of_two_experiments_the_models_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # by their ids these are the same runs
    monkeypatch.setattr("hashbench.results.read.comparison.unlike", lambda x, y: "")
    stores = [build(tmp_path / name, RUNS) for name in ("mine.db", "theirs.db")]
    name = stores[0].query("SELECT name FROM experiment")[0]["name"]
    rows = comparison_table(compare(stores, name, name, draws=100)).rows
    under = {(row.section, row.title, side) for row in rows for side in "ab" if row.cells[side].under == "majority"}
    assert under == {(*of, side) for of in (("strong", "rte"), ("weak", "sst2")) for side in "ab"}
