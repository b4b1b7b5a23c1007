"""A result and the end of its attempt are one transaction; what is finished is only ever voided."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sqlalchemy as sa

from hashbench.common import clock
from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store
from hashbench.store.queue import LeaseLost, abandon, fail, release
from hashbench.store.result import Artifact, Predictions, Result, add_metrics, finish, void
from hashbench.store.status import artifacts, attempts, counts, predictions

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def sizes(store: Store) -> dict[str, int]:
    tables = ("metric", "predictions", "artifact")
    return {table: store.query(f"SELECT COUNT(*) AS n FROM {table}")[0]["n"] for table in tables}


def test_everything_of_a_result_is_stored(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    outputs = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    result = Result(
        metrics=[MetricRow("accuracy", 0.5, "validation", step=7), MetricRow("total_params", 2_700_000_000)],
        predictions=[Predictions("validation", "best", outputs, np.array([1, 0]), "rows 0 to 1")],
        artifacts=[Artifact("weights", "pretrained/a.safetensors", 5_000_000_000, "ab" * 32)],
        log="epoch 1",
        seconds=12.5,
        notes={"data": "built-in"},
    )
    finish(store, held, result)
    rows = store.query("SELECT name, split, step, value FROM metric ORDER BY name")
    assert [tuple(row.values()) for row in rows] == [
        ("accuracy", "validation", 7, 0.5),
        ("total_params", "", 0, 2_700_000_000.0),
    ]
    stored = predictions(store, held.run_id, "validation", "best")
    np.testing.assert_array_equal(stored.outputs, outputs)
    assert (stored.outputs.dtype, stored.index_fingerprint) == (np.float32, "rows 0 to 1")
    np.testing.assert_array_equal(stored.targets, [1, 0])
    assert predictions(store, held.run_id, "validation", "last") is None
    assert artifacts(store, held.run_id) == list(result.artifacts)
    (attempt,) = attempts(store, held.run_id)
    assert (attempt.state, attempt.log, attempt.seconds) == ("done", "epoch 1", 12.5)
    assert attempt.notes == {"data": "built-in"}
    assert attempt.ended_at >= attempt.started_at


def test_seconds_are_measured_by_the_database_unless_given(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    finish(store, held, Result())
    assert 0 <= attempts(store, held.run_id)[0].seconds < 30


def test_seconds_of_earlier_attempts_count(store: Store, lab: Lab) -> None:
    """A run taken up from a checkpoint took the time of all its attempts, or interrupted sweeps would look fast."""
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    finish(store, held, Result(seconds_before=100.0))
    assert 100 <= attempts(store, held.run_id)[0].seconds < 130


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_no_number_is_missing_with_a_reason(store: Store, lab: Lab, value: float | None) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    finish(store, held, Result([MetricRow("pearson", value, "validation")]))
    row = store.query("SELECT value, reason FROM metric")[0]
    assert (row["value"], row["reason"]) == (None, "not given" if value is None else str(value))


def test_the_database_refuses_a_missing_value_without_a_reason(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    row = "INSERT INTO metric (attempt_id, split, name, step, condition) VALUES ({}, '', 'x', 0, '')"
    with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
        connection.exec_driver_sql(row.format(held.attempt_id))


def test_a_result_that_cannot_be_stored_whole_leaves_nothing(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    array = np.zeros(2)
    twice = [Predictions("validation", "best", array, array, "x")] * 2
    files = [Artifact("weights", "a", 1, "ab")]
    with pytest.raises(sa.exc.IntegrityError):
        finish(store, held, Result([MetricRow("accuracy", 0.5)], twice, files))
    assert sizes(store) == {"metric": 0, "predictions": 0, "artifact": 0}
    assert attempts(store, held.run_id)[0].state == "running"
    finish(store, held, Result([MetricRow("accuracy", 0.5)], twice[:1], files))  # the lease is still ours
    assert sizes(store) == {"metric": 1, "predictions": 1, "artifact": 1}


def test_a_finished_run_is_never_written_again(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    finish(store, held, Result([MetricRow("accuracy", 0.5)]))
    finish(store, held, Result([MetricRow("accuracy", 0.6)]))  # the answer of the first may have been lost
    with pytest.raises(LeaseLost):
        finish(store, replace(held, token="0" * 32), Result([MetricRow("accuracy", 0.6)]))
    assert lab.claim(store, experiment_id) is None
    assert [row["value"] for row in store.query("SELECT value FROM metric")] == [0.5]


def test_outputs_and_targets_must_be_of_one_length() -> None:
    with pytest.raises(ValueError, match="validation: 2 outputs but 3 targets"):
        Predictions("validation", "best", np.zeros(2), np.zeros(3), "x")


def test_void_takes_back_a_run_and_what_was_built_on_it(store: Store, lab: Lab) -> None:
    runs = [
        lab.run("pppp", kind="pretrain", metric=None),
        lab.run("ffff", needs=["pppp"]),
        lab.run("gggg", needs=["ffff"]),
        lab.run("other"),
    ]
    experiment_id = lab.plan(store, *runs)
    lab.finish_all(store, experiment_id)
    assert void(store, lab.id("pppp"), "a bug in the corpus") == sorted(row.id for row in runs[:3])
    assert counts(store, experiment_id) == {"planned": 0, "running": 0, "done": 1, "failed": 0, "void": 3}
    assert {row["run_id"] for row in store.query("SELECT run_id FROM scores")} == {lab.id("other")}
    assert attempts(store, lab.id("ffff"))[0].reason == "a bug in the corpus"
    assert attempts(store, lab.id("ffff"))[0].state == "void"
    rows = store.query("SELECT void_reason FROM run WHERE state = 'void'")
    assert {row["void_reason"] for row in rows} == {"a bug in the corpus"}
    assert sizes(store)["metric"] == 4 * 3  # nothing is deleted


def test_only_a_finished_run_can_be_void(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("a"))
    with pytest.raises(InputError, match="run a00000000000: planned; only a finished run can be made void"):
        void(store, lab.id("a"), "why")
    with pytest.raises(InputError, match="run b00000000000: unknown; only a finished run"):
        void(store, lab.id("b"), "why")


def numbers(store: Store) -> list[tuple[str, float]]:
    return [(row["name"], row["value"]) for row in store.query("SELECT name, value FROM metric ORDER BY name")]


def test_numbers_are_added_and_measured_again(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    finish(store, held, Result(metrics=[MetricRow("total_params", 7)]))
    add_metrics(store, held.run_id, [MetricRow("int8_bytes", 100), MetricRow("int8_latency", 0.2)])
    add_metrics(store, held.run_id, [MetricRow("int8_bytes", 90)])
    assert numbers(store) == [("int8_bytes", 90.0), ("int8_latency", 0.2), ("total_params", 7.0)]


def test_nothing_is_added_to_a_run_that_is_not_finished(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    with pytest.raises(InputError, match="is not finished, so nothing can be added to it"):
        add_metrics(store, held.run_id, [MetricRow("int8_bytes", 100)])
    assert numbers(store) == []


@pytest.mark.parametrize("jump", [-3_600.0, 3_600.0])
@pytest.mark.parametrize("end", ["done", "failed", "interrupted"])
def test_a_clock_that_is_set_during_a_run_changes_no_time(
    store: Store, lab: Lab, monkeypatch: pytest.MonkeyPatch, jump: float, end: str
) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    held = lab.claim(store, lab.plan(store, lab.run("timed")))
    now[0] += 42.5
    monkeypatch.setattr(store, "now", store.now + jump)
    if end == "done":
        finish(store, held, Result(seconds_before=7.5))
    else:
        fail(store, held, "x") if end == "failed" else release(store, held)
    row = store.query("SELECT started_at, ended_at, seconds FROM attempt")[0]
    assert row["ended_at"] - row["started_at"] == pytest.approx(42.5, abs=1e-5)
    assert row["seconds"] == pytest.approx(50.0 if end == "done" else 42.5, abs=1e-5)
    if end == "done":
        assert store.query("SELECT finished_at FROM run")[0]["finished_at"] == row["ended_at"]


def test_an_attempt_of_a_dead_process_ends_no_earlier_than_it_began(
    store: Store, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("timed")))
    monkeypatch.setattr(store, "now", store.now - 3_600.0)
    abandon(store, held.attempt_id, "dead")
    assert store.query("SELECT ended_at - started_at AS lasted, seconds FROM attempt")[0] == {"lasted": 0, "seconds": 0}


def test_sleep_is_noted_and_not_counted(store: Store, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    now, booted = [100.0], [9_000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    monkeypatch.setattr(clock, "boot_time", lambda: booted[0])
    held = lab.claim(store, lab.plan(store, lab.run("timed")))
    now[0], booted[0] = now[0] + 10.0, booted[0] + 3_610.0
    finish(store, held, Result(notes={"a": "b"}))
    row = store.query("SELECT seconds, notes FROM attempt")[0]
    assert row["seconds"] == pytest.approx(10.0) and json.loads(row["notes"]) == {
        "a": "b",
        "slept": "3600 s, not counted",
    }
