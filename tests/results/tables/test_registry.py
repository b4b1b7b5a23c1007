"""A table of one's own: one file in a folder, printed in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store
from tests.results.claims.world import Answers, build

TOY = """
from hashbench.results.papers.paper import Column
from hashbench.results.tables.request import TableFile
from hashbench.results.tables.table import Cell, Row, Table

RUNS = Column("runs", "count", "fact", "finished runs")


def counts(source):
    measured = source.measured
    rows = [
        Row(model, model, {"runs": Cell(float(sum(run.model == model for run in measured.runs)), unit="count")})
        for model in sorted(measured.labels())
    ]
    return [Table("", "counts", "Runs of each model", measured.experiment.name, (RUNS,), tuple(rows), published=False)]


TABLE = TableFile("counts", "how many runs each model has", counts)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tables beside a database of two models."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "counts.py").write_text(TOY)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(folder))
    monkeypatch.chdir(tmp_path)
    build(Path("results.db"), [Answers("strong", 0.9), Answers("weak", 0.6)]).close()
    return folder


@pytest.mark.parametrize("style", ["text", "md", "latex", "csv", "json", "html"])
def test_it_prints_in_every_format(toy: Path, style: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["report", "--table", "counts", "--format", style])
    out = capsys.readouterr().out
    assert not left.value.code
    if style == "csv":
        assert [row["model"] for row in csv.DictReader(io.StringIO(out))] == ["strong", "weak"]
    elif style == "json":
        assert {(row["table"], row["column"]) for row in json.loads(out)} == {("counts", "runs")}
    else:
        assert "Runs of each model" in out and "strong" in out and "finished runs" in out


def test_it_stands_beside_the_tables_of_the_program(toy: Path) -> None:
    assert {"counts", "links", "own", "paper", "robustness"} <= set(registered("table"))


def test_a_name_that_is_taken_names_both_files(toy: Path) -> None:
    (toy / "zz.py").write_text(TOY.replace("counts", "own"))
    with pytest.raises(InputError, match=r"table 'own' is already in .*; rename one of them"):
        registered("table")


def test_a_paper_has_all_its_tables_under_one_name(small_store: Store) -> None:
    numbers = [table.number for table in tables(small_store, ReportRequest(table="paper"))]
    assert numbers == ["1", "2", "3", "6"]
    assert [table.number for table in tables(small_store, ReportRequest(table="own, 2"))] == ["own", "2"]
