"""Stored outputs that cannot be read cost their run an interval or a paired test, and no report."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.results.exchange.export import export_example
from hashbench.results.read.comparison import compare
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_results
from hashbench.store.packing import pack
from tests.commands import call

HUGE = zlib.compress(  # 600 MB where it is unpacked
    b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (7500, 20000), }".ljust(117) + b"\n"
)
DAMAGES = {
    "outputs": [b"", b"abc", HUGE, pack(np.zeros((3, 2))), zlib.compress(b"\x93NUMPY\x01\x00\x08\x00((((((("),
                zlib.compress(b"\x93NUMPY\x01\x00v\x00" + b"[" * 117 + b"\n"), "text", pack(np.zeros((500, 2, 2)))],
    "targets": [pack(np.zeros((500, 2))), pack(np.zeros(1))],
    "n": [499],
}  # fmt: skip
CASES = [(column, value) for column, values in DAMAGES.items() for value in values]


def damaged(
    small_store: Store, folder: Path, column: str, value: object, models: tuple[str, ...] = ("bert-mlm",)
) -> Path:
    """A copy of the store in which a column of the outputs of models on subj has another value in one seed each."""
    path = folder / "results.db"
    shutil.copy(small_store.path, path)
    with sqlite3.connect(path) as connection:
        for model in models:
            of_run = "SELECT finished_attempt FROM run WHERE task = 'subj' AND seed = 1 AND model = ?"
            connection.execute(f"UPDATE predictions SET {column} = ? WHERE attempt_id = ({of_run})", (value, model))
    return path


@pytest.mark.parametrize(("column", "value"), CASES)
def test_a_report_loses_one_interval_and_says_so(
    small_store: Store, tmp_path: Path, column: str, value: object
) -> None:
    path = damaged(small_store, tmp_path, column, value)
    whole = render(tables(small_store, ReportRequest(examples=True)), "csv")
    printed = tables(open_results(path), ReportRequest(examples=True))
    csv, text = (render(printed, style) for style in ("csv", "text"))
    of_row = "bert-mlm,subj_over_examples"
    assert of_row in whole and of_row not in csv
    numbers = [line.rsplit(",", 2)[0] for line in whole.splitlines() if of_row not in line]
    assert numbers == [line.rsplit(",", 2)[0] for line in csv.splitlines()]  # without what was compared
    assert "no interval" in text
    assert "outputs that cannot be read" in text and f"predictions.{column if column != 'n' else 'outputs'}: " in text
    assert "outputs that cannot be read" not in render(tables(small_store, ReportRequest(examples=True)), "text")


def test_a_comparison_loses_one_task(small_store: Store, tmp_path: Path) -> None:
    store = open_results(damaged(small_store, tmp_path, "outputs", HUGE))
    comparison = compare([store], "hashformer-lsh-proj", "bert-mlm")
    assert {line.task for line in comparison.lines} == {"sst2"}
    why = next(line for line in comparison.skipped if "subj" in line)
    assert "its outputs cannot be read (predictions.outputs: an array of shape (7500, 20000)" in why


def test_a_comparison_of_nothing_else_says_why(small_store: Store, tmp_path: Path) -> None:
    path = damaged(small_store, tmp_path, "outputs", b"")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM predictions WHERE split = 'validation' AND outputs <> x''")
    with pytest.raises(InputError, match="cannot be read|no stored predictions"):
        compare([open_results(path)], "hashformer-lsh-proj", "bert-mlm")


def test_an_export_leaves_them_out_with_a_note(small_store: Store, tmp_path: Path) -> None:
    path = damaged(small_store, tmp_path, "outputs", HUGE)
    outcome = call("db", "export", "out.db", "--db", path, cwd=tmp_path)
    assert outcome.code == 0 and outcome.err.count("\n") == 1
    assert "outputs cannot be read" in outcome.err and "predictions.outputs" in outcome.err
    export_example(small_store, tmp_path / "whole.db")
    counts = [
        open_results(tmp_path / name).query("SELECT COUNT(*) AS n FROM predictions")[0]["n"]
        for name in ("whole.db", "out.db")
    ]
    assert counts[0] - counts[1] == 1
