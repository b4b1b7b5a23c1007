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


def test_the_averages_that_an_experiment_names_are_lines_where_their_tasks_were_compared(tmp_path: Path) -> None:
    runs = [*RUNS, *(Answers(name, right, 0, "mrpc") for name, right in [("strong", 0.8), ("weak", 0.7)])]
    store = build(tmp_path / "r.db", runs, averages={"two": ["rte", "mrpc"], "lacking": ["rte", "cola"]})
    table = comparison_table(compare([store], "strong", "weak", draws=100))
    differences = {row.title: row.cells["a-b"].value for row in table.rows}
    assert set(differences) == {"rte", "mrpc", "sst2", "average", "two"}
    assert differences["two"] == pytest.approx((differences["rte"] + differences["mrpc"]) / 2)
    assert [record["task"] for record in table.records][-2:] == ["average", "average_two"]


def test_averages_of_two_experiments_are_those_over_the_same_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # by their ids these are the same runs
    monkeypatch.setattr("hashbench.results.read.comparison.unlike", lambda x, y: "")
    named = [{"both": ["rte", "sst2"], "other": ["rte", "sst2"]}, {"both": ["sst2", "rte"], "other": ["sst2", "cola"]}]
    stores = [build(tmp_path / f"{number}.db", RUNS, averages=averages) for number, averages in enumerate(named)]
    name = stores[0].query("SELECT name FROM experiment")[0]["name"]
    lines = compare(stores, name, name, draws=100).lines
    assert {line.task for line in lines if line.is_average} == {"average", "average_both"}
