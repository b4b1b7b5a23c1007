"""The interval over examples: another name and another thing than the deviation over seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
import pytest

from hashbench.results.read import evidence, measured
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell
from hashbench.scores.draws import Scored, drawn_together, percentile_interval
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint, Predictions
from hashbench.store.status import predictions_of

Stored = dict[str, Predictions | None]


def _cell(store: Store, column: str, *, examples: bool) -> Cell:
    return tables(store, ReportRequest(examples=examples))[0].rows[0].cells[column]


def test_the_interval_is_that_of_a_binomial_share(small_store: Store) -> None:
    cell = _cell(small_store, "subj", examples=True)
    # mean of three runs with independent errors at about 0.93 of 500 examples: half width 1.96 * sqrt(p q / 500 / 3)
    assert cell.interval is not None and cell.n_examples == 500
    half = (cell.interval[1] - cell.interval[0]) / 2
    assert half == pytest.approx(100 * 1.96 * (0.93 * 0.07 / 1500) ** 0.5, rel=0.2)


def test_the_interval_lies_around_the_score_of_the_stored_predictions(small_store: Store) -> None:
    row = small_store.query("SELECT COUNT(*) AS n FROM predictions")[0]
    assert row["n"] > 0
    low, high = _cell(small_store, "subj", examples=True).interval or (0, 0)
    assert low < 93.0 < high


def test_it_is_drawn_alike_every_time(small_store: Store) -> None:
    assert _cell(small_store, "subj", examples=True) == _cell(small_store, "subj", examples=True)


def test_nothing_is_drawn_unless_asked_for_nor_without_predictions(small_store: Store) -> None:
    assert _cell(small_store, "subj", examples=False).interval is None
    assert _cell(small_store, "cola", examples=True).interval is None
    assert _cell(small_store, "average", examples=True).interval is None  # cola has no predictions


def test_tidy_rows_give_the_interval_under_a_name_of_its_own(small_store: Store) -> None:
    rows = list(csv.DictReader(io.StringIO(render(tables(small_store, ReportRequest(examples=True)), "csv"))))
    row = next(row for row in rows if (row["model"], row["column"]) == ("bert-mlm", "subj_over_examples"))
    assert float(row["value"]) < 93.0 < float(row["value_high"]) and row["n"] == "500" and row["std"] == ""


def test_predictions_are_read_once_and_only_of_runs_that_kept_them(
    small_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a database of 20,000 runs without predictions: not one of them is looked up."""
    kept = {
        (row["run_id"], row["split"])
        for row in small_store.query(
            "SELECT a.run_id, p.split FROM predictions p JOIN attempt a ON a.id = p.attempt_id"
        )
    }
    read: list[tuple[str, str]] = []

    def counting(store: Store, run_ids: Sequence[str], split: str, checkpoint: Checkpoint) -> Stored:
        read.extend((run_id, split) for run_id in run_ids)
        return predictions_of(store, run_ids, split, checkpoint)

    monkeypatch.setattr(measured, "predictions_of", counting)
    tables(small_store, ReportRequest(examples=True, all_metrics=True))
    assert read and len(set(read)) == len(read) and set(read) <= kept


def test_the_examples_of_a_table_are_drawn_once_a_task(small_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    drawings: list[int] = []

    def counting(parts: Sequence[Scored], *, draws: int, seed: int) -> list[np.ndarray]:
        drawings.append(seed)
        return drawn_together(parts, draws=draws, seed=seed)

    monkeypatch.setattr(evidence, "drawn_together", counting)
    tables(small_store, ReportRequest(examples=True, all_metrics=True))
    assert evidence.draw_seed("subj") in drawings and len(set(drawings)) == len(drawings)


def test_the_legend_tells_the_two_spreads_apart(small_store: Store) -> None:
    text = " ".join(render(tables(small_store, ReportRequest(examples=True)), width=200).split())
    assert "mean ± sd over seeds" in text
    assert "a..b: 95 % interval over examples (bootstrap of the stored predictions), not over seeds" in text


def test_undefined_draws_are_left_out() -> None:
    assert percentile_interval(np.array([np.nan, 0.2, 0.2, np.nan])) == (0.2, 0.2)
    assert percentile_interval(np.array([np.nan])) is None
