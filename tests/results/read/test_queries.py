"""Queries that read a view's rows once give what the view gives."""

from __future__ import annotations

import re

import pytest

from hashbench.results.read import queries
from hashbench.store.engine import Store
from hashbench.store.views import VIEWS


@pytest.mark.parametrize("paper", ["hashformers", "own"])
def test_ratios_are_those_of_the_view(paper_store: Store, paper: str) -> None:
    which = {"experiment": 1, "paper": paper, "checkpoint": "best"}
    sql = "SELECT model, encoder, task, value, n_tasks FROM prr WHERE experiment_id = :experiment AND paper = :paper "
    found = paper_store.query(queries.RATIOS, **which)
    assert found and _rows(found) == _rows(paper_store.query(sql + "AND checkpoint = :checkpoint", **which))


def test_facts_and_costs_are_those_of_the_views(paper_store: Store) -> None:
    found = paper_store.query(queries.MODEL_FACTS, experiment=1)
    sql = "SELECT 1, model, encoder, name, value, value_high, low, high FROM costs WHERE experiment_id = 1"
    assert _rows([row for row in found if row["formed"]]) == _rows(paper_store.query(sql)) != []
    sql = (
        "SELECT 0, model, encoder, name, MIN(value), CASE WHEN MAX(value) > MIN(value) THEN MAX(value) END, NULL, NULL "
        "FROM facts WHERE experiment_id = 1 GROUP BY model, encoder, name"
    )
    assert _rows([row for row in found if not row["formed"]]) == _rows(paper_store.query(sql)) != []
    assert [row["formed"] for row in found] == sorted(row["formed"] for row in found)


@pytest.mark.parametrize(("view", "query"), [("prr", queries.RATIOS), ("costs", queries.MODEL_FACTS)])
def test_a_query_narrows_every_view_that_its_view_reads(view: str, query: str) -> None:
    read = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", VIEWS[view]))
    assert read & VIEWS.keys() <= set(re.findall(r"(\w+) AS MATERIALIZED", query))


@pytest.mark.parametrize("checkpoint", ["best", "last"])
def test_scores_and_those_under_conditions_are_those_of_the_views(paper_store: Store, checkpoint: str) -> None:
    found = paper_store.query(queries.SCORES, experiment=1, checkpoint=checkpoint)
    columns = "SELECT model, run_id, metric, split, {}, value, reason FROM"
    plain = columns.format("'', own") + " scores WHERE experiment_id = 1 AND checkpoint = :checkpoint"
    rows = [row for row in found if not row["condition"]]
    assert _rows(rows) == _rows(paper_store.query(plain, checkpoint=checkpoint)) != []
    sql = columns.format("condition") + " scores_by_condition WHERE experiment_id = 1"
    under = [{name: row[name] for name in row if name != "own"} for row in found if row["condition"]]
    assert _rows(under) == _rows(paper_store.query(sql))


def _rows(rows) -> list[list]:
    """Sorted, with the last digits cut, which depend on the order in which SQL adds."""
    cut = [[round(value, 12) if isinstance(value, float) else value for value in row.values()] for row in rows]
    return sorted(cut, key=str)
