"""What a table says of models that were not pre-trained here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hashbench.cli.output import print_tables
from hashbench.results.read.origins import scratch_warning, starts
from hashbench.results.read.runs import MeasuredRun, RunOrigin
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from tests.databases import made_up
from tests.databases.made_up import World, build

PUBLISHED = {"model": {"weights": {"sha256": "0123456789abcdef"}}, "settings": {"weights": "google/canine-c"}}
RANDOM = {"model": {"weights": "random"}}
NONE = {"model": {"weights": None}}
OLDER = {"model": {}}  # written before there were published weights


def _runs(*labelled: tuple[str, dict[str, Any]]) -> list[MeasuredRun]:
    run = MeasuredRun("1", "finetune", "", "cola", 0, "tiny", {}, "done", "", "", "", RunOrigin())
    return [replace(run, model=model, spec=spec) for model, spec in labelled]


def test_starts_are_named_once() -> None:
    runs = _runs(("b", RANDOM), ("c", PUBLISHED), ("a", RANDOM), ("b", RANDOM), ("p", NONE), ("o", OLDER))
    assert starts(runs) == [
        "none for a, b (random weights: from scratch)",
        "published weights google/canine-c (sha256 01234567) for c",
        "none for o, p",
    ]


def test_from_scratch_is_said_loudly() -> None:
    floor: dict[str, Any] = {"kind": "floor"}
    assert scratch_warning(_runs(("m", floor), ("p", NONE), ("o", OLDER), ("c", PUBLISHED))) == []
    assert scratch_warning(_runs(("b", RANDOM), ("a", RANDOM), ("b", RANDOM))) == [
        "FROM SCRATCH: a, b: random weights, trained on the task alone; not the published model."
    ]


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """`canine-c-scratch` of a made-up experiment starts from random weights."""
    before = made_up.model_block

    def block(model: str, encoder: str) -> dict[str, Any]:
        found = before(model, encoder)
        return found | {"weights": "random"} if model == "canine-c-scratch" else found

    monkeypatch.setattr(made_up, "model_block", block)


@pytest.mark.parametrize("number", [None, "1", "2"])
def test_every_table_marks_it(scratch: None, tmp_path: Path, number: str | None) -> None:
    store = build(tmp_path / "results.db", World(models=("bert-mlm", "canine-c-scratch"), tasks=("cola",)))
    table = tables(store, ReportRequest(table=number))[0]
    rows = {row.model: row.settings for row in table.rows if row.encoder and row.kind == "model"}
    assert rows == {"bert-mlm": "", "canine-c-scratch": "from scratch"}
    assert any(line.startswith("FROM SCRATCH: canine-c-scratch: random weights") for line in table.warnings)
    for style in ("text", "md", "latex"):
        assert "canine-c-scratch (from scratch)" in render(tables(store, ReportRequest(table=number)), style)


def test_csv_says_it_on_the_side(scratch: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = build(tmp_path / "results.db", World(models=("bert-mlm", "canine-c-scratch"), tasks=("cola",)))
    print_tables(tables(store), "csv")
    printed = capsys.readouterr()
    assert "FROM SCRATCH" not in printed.out and "!! FROM SCRATCH: canine-c-scratch" in printed.err
