"""What a report asks for: the tables that come back, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hashbench.errors import InputError
from hashbench.store.engine import Store, open_store
from hashbench.tables.report import tables
from hashbench.tables.request import ReportRequest
from tests.databases.made_up import World, build


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"table": "9"}, "--table: hashformers has no table '9' here; there are: 1, 2, 3, 6"),
        ({"table": "1,x"}, "has no table 'x'"),
        ({"paper": "hashformer"}, "did you mean 'hashformers'"),
        ({"experiment": "made-upp"}, "no experiment 'made-upp'; did you mean 'made-up'"),
    ],
)
def test_wrong_input_is_one_clear_line(small_store: Store, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        tables(small_store, ReportRequest(**asked))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_empty_database_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run hashbench sweep first"):
        tables(open_store(tmp_path / "results.db"))


def test_the_experiment_swept_last_is_reported_unless_one_is_named(tmp_path: Path) -> None:
    first = World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), name="first", efficiency=False)
    build(tmp_path / "results.db", first).close()
    second = World(models=("bert-sr",), tasks=("cola",), seeds=(0,), name="second", efficiency=False)
    store = build(tmp_path / "results.db", second)
    assert tables(store)[0].experiment == "second"
    assert [row.model for row in tables(store, ReportRequest(experiment="first"))[0].rows][0] == "bert-mlm"


def test_several_tables_come_in_the_order_asked_for(paper_store: Store) -> None:
    assert [table.number for table in tables(paper_store, ReportRequest(table="3, 1"))] == ["3", "1"]


def test_reporting_imports_nothing_of_the_training_side() -> None:
    code = (
        "import sys, hashbench.rendering.registry, hashbench.tables.report; "
        "print([m for m in ('torch', 'lightning', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
