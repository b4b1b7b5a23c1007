"""`list`: the experiments of a database."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.cli.commands import Run, fails
from tests.databases.made_up import World, build


def test_experiments_with_their_models_and_tasks_the_newest_first(run: Run) -> None:
    build(
        Path("results.db"), World(name="first", tasks=("cola",), seeds=(0,), failed={("bert-mlm", "cola", 0)})
    ).close()
    build(
        Path("results.db"), World(name="second", models=("bert-mlm",), tasks=("cola", "rte", "sst2"), seeds=(0,))
    ).close()
    listed = run("list")
    lines = listed.out.splitlines()
    assert listed.code == 0 and [line.split()[0] for line in lines] == ["experiment", "second", "first"]
    assert "cola, rte, 1 more" in lines[1] and "bert-mlm, hashformer-md-emb-50k, 1 more" in lines[2]
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv").out)))
    assert rows[0]["models"] == "bert-mlm" and rows[0]["tasks"] == "cola, rte, sst2" and rows[1]["failed"] == "1"
    assert rows[1]["done"] == "10 of 11"


def test_versions_of_a_file_are_one_row_and_with_all_a_row_each(run: Run) -> None:
    for tasks in (("cola",), ("cola", "rte"), ("sst2",)):
        build(Path("results.db"), World(name="mine", models=("bert-mlm",), tasks=tasks, seeds=(0,))).close()
    build(Path("results.db"), World(name="other", models=("bert-mlm",), tasks=("cola",), seeds=(0,))).close()
    _, other, mine = run("list").out.splitlines()
    assert other.startswith("other ") and "earlier" not in other
    assert "  sst2  " in mine and mine.endswith(", and 2 earlier")
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv").out)))
    assert [(row["experiment"], row["tasks"], row["earlier"]) for row in rows] == [
        ("other", "cola", "0"), ("mine", "sst2", "2"),
    ]  # fmt: skip
    _, *lines = run("list", "--all").out.splitlines()
    names = [line.split()[0] for line in lines]
    assert [name.partition("@")[0] for name in names] == ["other", "mine", "mine", "mine"]
    assert ["@" in name for name in names] == [False, False, True, True]  # an earlier one is read by it
    assert not any("earlier" in line for line in lines)


def test_a_database_that_is_not_there(run: Run) -> None:
    fails(run("list", "--db", "none.db"), "none.db: no such database")
