"""The table of families at equal parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.tables.breakdowns import ONE_SIZE
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table, comparable
from hashbench.store.engine import Store
from tests.databases.budgets import two_budgets


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """That of two budgets."""
    return table_of(two_budgets(tmp_path_factory.mktemp("budgets") / "r.db"))


def table_of(store: Store) -> Table:
    """The table of a database."""
    return tables(store, ReportRequest(table="budgets"))[0]


def test_sections_are_budgets_from_small_to_large_and_then_what_has_one_size(table: Table) -> None:
    models = [(row.section, row.model) for row in table.rows if row.kind == "model"]
    assert models == [
        ("0.8M", "rows-0.8M"), ("38.6M", "rows-38.6M"), (ONE_SIZE, "bert-mlm"), (ONE_SIZE, "hashformer-lsh-proj"),
    ]  # fmt: skip
    assert [row.model for row in table.rows if row.is_baseline] == ["majority", "bag-of-words"]


def test_the_best_is_told_within_a_section(table: Table) -> None:
    best = {row.model for row in table.rows if row.cells["average"].best}
    assert best == {"hashformer-lsh-proj"} or best == {"bert-mlm"}  # sections of one model have none


def test_columns_are_scores_sizes_and_costs_and_no_times(table: Table) -> None:
    names = [column.name for column in table.columns]
    assert names == [
        "rte", "cola", "average", "emb_params", "active_params", "total_params", "bytes_per_token", "multiply_adds",
    ]  # fmt: skip
    sizes = {row.model: row.cells["emb_params"] for row in table.rows}
    assert (sizes["rows-38.6M"].value, sizes["rows-38.6M"].unit) == (pytest.approx(38.603520), "M")
    assert all(set(row.cells) >= set(names) for row in table.rows)


def test_a_name_that_only_looks_like_a_budget_is_of_one_size(tmp_path: Path) -> None:
    store = two_budgets(tmp_path / "r.db", lsh="x-2M")
    rows = tables(store, ReportRequest(table="budgets"))[0].rows
    assert {row.model: row.section for row in rows if row.kind == "model"} == {
        "rows-0.8M": "0.8M", "rows-38.6M": "38.6M", "bert-mlm": ONE_SIZE, "x-2M": ONE_SIZE,
    }  # fmt: skip


def test_under_a_single_budget_the_models_of_that_size_are_at_it(tmp_path: Path) -> None:
    free = table_of(two_budgets(tmp_path / "free.db"))
    sizes = {row.model: comparable(row.cells["emb_params"]) for row in free.rows if not row.is_baseline}
    budget = {"embedding_parameters": int(sizes["bert-mlm"] or 0)}
    sections = {row.model: row.section for row in table_of(two_budgets(tmp_path / "one.db", budget=budget)).rows}
    assert sections["bert-mlm"] != ONE_SIZE == sections["hashformer-lsh-proj"]
