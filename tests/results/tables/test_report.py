"""What a report asks for: the tables that come back, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_store
from tests.databases.hand_made import HandRun
from tests.databases.hand_made import build as build_by_hand
from tests.databases.made_up import World, build


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"table": "9"}, "--table: hashformers has no table '9' here; there are: 1, 2, 3, 4, 5, 6"),
        ({"table": "1,x"}, "has no table 'x'"),
        ({"table": "budgts"}, "has no table 'budgts' here; did you mean 'budgets'?; there are: 1, 2"),
        ({"paper": "hashformer"}, "did you mean 'hashformers'"),
        ({"experiment": "made-upp"}, "no experiment 'made-upp'; did you mean 'made-up'"),
    ],
)
def test_wrong_input_is_one_clear_line(small_store: Store, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        tables(small_store, ReportRequest(**asked))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_few_lines_are_below_a_table_unless_all_are_wanted_and_warnings_stay(small_store: Store) -> None:
    for table in ("1", None):
        full, short = (tables(small_store, ReportRequest(table=table, provenance=told))[0] for told in (True, False))
        assert len(full.provenance) > len(short.provenance) == 6
        assert full.details or full.missing
        assert not short.details and not short.missing and short.notes == full.notes
        assert full.warnings and short.warnings == full.warnings and short.rows == full.rows


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


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three sweeps: HashFormers on two tasks, the same on one, and then ProFormer."""
    path = tmp_path_factory.mktemp("several") / "results.db"
    for name, tasks in (("two", ("cola", "rte")), ("one", ("cola",))):
        build(path, World(tasks=tasks, seeds=(0,), name=name, efficiency=False)).close()
    return build_by_hand(path, [HandRun("proformer", "atis", 0, {("accuracy", "test", ""): 0.9})])


def test_a_papers_table_is_of_the_experiment_swept_last_unless_one_is_named(several: Store) -> None:
    table = tables(several, ReportRequest(table="2"))[0]
    assert (table.paper, table.experiment) == ("proformer", "by-hand")
    table = tables(several, ReportRequest(table="2", experiment="one"))[0]
    assert (table.paper, table.experiment) == ("hashformers", "one")
    with pytest.raises(InputError, match="--table: superbloom has no table '77' here"):
        tables(several, ReportRequest(table="77", paper="superbloom"))


def test_several_tables_come_in_the_order_asked_for(paper_store: Store) -> None:
    assert [table.number for table in tables(paper_store, ReportRequest(table="3, 1"))] == ["3", "1"]


@pytest.mark.e2e
def test_reporting_imports_nothing_of_the_training_side() -> None:
    code = (
        "import sys, hashbench.results.rendering.registry, hashbench.results.tables.report; "
        "print([m for m in ('torch', 'lightning', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
