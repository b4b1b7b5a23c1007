"""What a table says of models that were not pre-trained here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hashbench.cli.output import print_tables
from hashbench.results.read import origins
from hashbench.results.read.origins import TaskOrigin, different_sources, scratch_warning, starts
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


def test_texts_are_built_in_where_an_origin_or_a_note_says_so() -> None:
    assert not TaskOrigin(["f"], ["hub nyu-mll/glue cola", "folder data"], ["sample: 10"], 5).built_in
    assert TaskOrigin(["f"], ["hub nyu-mll/glue cola", "Builtin"], [], 5).built_in
    assert TaskOrigin(["f"], ["folder data"], ["sample: 10", "of the built-in texts"], 5).built_in


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


def run(task: str | None, model: str, sources: str | None):
    return "finetune" if task else "pretrain", task, model, {} if sources is None else {"sources": sources}


def test_equal_code_and_code_that_was_not_noted_is_not_spoken_of() -> None:
    runs = [run("cola", "a", "11 aa"), run("cola", "b", "11 bb"), run("cola", "c", None), run(None, "a", "22 aa")]
    assert different_sources(runs) == []


def test_a_column_whose_runs_have_different_shared_code() -> None:
    runs = [run("cola", "a", "11 aa"), run("cola", "b", "99 bb"), run("cola", "c", "11 cc"), run("rte", "a", "11 aa")]
    assert different_sources(runs) == ["finetune on cola: 2 versions of the code (11: a, c; 99: b)"]


def test_code_that_was_declared_equal_is_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "equal_codes", lambda: {"11": "11", "12": "11", "aa": "aa", "ab": "aa"})
    runs = [run("cola", "a", "11 aa"), run("cola", "b", "12 bb"), run("rte", "a", "12 ab")]
    assert different_sources(runs) == []
    assert different_sources([*runs, run("cola", "c", "99 cc")]) == [
        "finetune on cola: 2 versions of the code (11: a, b; 99: c)"
    ]


def test_each_group_of_equal_code_is_known_by_its_first_recorded_fingerprint() -> None:
    codes = origins.equal_codes()
    assert len(codes) > 90 and all(codes[first] == first for first in codes.values())


def test_a_model_whose_own_code_changed_between_columns() -> None:
    runs = [run("cola", "a", "11 aa"), run("rte", "a", "11 dd"), run("rte", "b", "11 bb")]
    assert different_sources(runs) == ["model a: 2 versions of the code (aa: finetune on cola; dd: finetune on rte)"]


def test_of_many_models_the_first_are_named() -> None:
    runs = [run("cola", name, "11 aa") for name in "abcdef"] + [run("cola", name, "99 aa") for name in "ghi"]
    (line,) = different_sources(runs)
    assert line == "finetune on cola: 2 versions of the code (11: a, b, 4 more; 99: g, h, 1 more)"
