"""Sums are right after whatever the program writes, and tell what else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.common.measured import MetricRow
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.planning import attach_run, collecting_experiment
from hashbench.store.queue import fail, heartbeat
from hashbench.store.result import Artifact, Result, add_metrics, claim_rerun, finish, finish_rerun, void
from tests.store.noted import wrong_sums

if TYPE_CHECKING:
    from tests.store.conftest import Lab

CHANGES = {
    "UPDATE metric SET value = value + 0.001": "attempt",
    "UPDATE metric SET name = 'f1' WHERE name = 'matthews' AND step = 3": "attempt",
    "DELETE FROM metric WHERE step = 3": "attempt",
    "UPDATE attempt SET seconds = 7": "attempt",
    "UPDATE attempt SET notes = '{}' || ' '": "attempt",
    "UPDATE attempt SET run_id = (SELECT MAX(id) FROM run)": "attempt",
    "UPDATE run SET finished_attempt = finished_attempt + 1 WHERE state = 'done'": "run",
    "UPDATE run SET task = 'rte'": "run",
    "UPDATE run SET state = 'planned' WHERE state = 'done'": "run",
    "UPDATE experiment_run SET model = model || 'x'": "member",
    "UPDATE experiment_run SET metric = 'f1'": "member",
    "UPDATE experiment SET config = '{}'": "experiment",
    "UPDATE experiment SET called_at = 7": "experiment",
}


def test_they_are_right_after_each_step(store: Store, lab: Lab) -> None:
    number = lab.plan(store, lab.run("a"), lab.run("b", needs=["a"]), lab.run("c"), lab.run("d"))
    assert wrong_sums(store) == []
    lab.plan(store, lab.run("a"), name="second")
    held = lab.claim(store, number)
    heartbeat(store, held)
    finish(store, held, lab.result())
    assert wrong_sums(store) == []
    fail(store, lab.claim(store, number), "disk full")
    finish(store, lab.claim(store, number), lab.result())
    add_metrics(store, lab.id("a"), [MetricRow("accuracy", 0.5, "test", 1)])
    assert wrong_sums(store) == []
    again = claim_rerun(store, lab.id("a"), worker="w", lease_s=60)
    finish_rerun(store, again, Result(artifacts=[Artifact("weights", "ab", 1, "ab")]))
    void(store, lab.id("a"), "wrong")
    assert wrong_sums(store) == []
    attach_run(store, lab.run("e", kind="evaluation", task="mine"), [(number, "bert-mlm")])
    collecting_experiment(store, "folder", {"a": 1}, baseline="b")
    lab.plan(store, lab.run("a"), lab.run("b", needs=["a"]), lab.run("c"), lab.run("d"))
    assert wrong_sums(store) == []


def test_a_sum_that_another_sweep_has_just_written_is_replaced(store: Store, lab: Lab) -> None:
    """Both sweeps delete what is there, then insert: the later one finds the other's row."""
    number = lab.plan(store, lab.run("a"))
    row = {"kind": "experiment", "of": str(number), "sha256": "0" * 64}
    with store.write() as connection:
        connection.execute(sums._insert_or_replace(connection), [row])
    assert len(wrong_sums(store)) == 1
    with store.write() as connection:
        sums.write(connection, "experiment", [number])
    assert wrong_sums(store) == []


def test_results_that_changed_are_named_by_their_run(store: Store, lab: Lab) -> None:
    lab.finish_all(store, lab.plan(store, lab.run("a"), lab.run("b"), lab.run("c")))
    ids = [lab.id("a"), lab.id("b")]
    assert sums.changed_results(store, ids) == []
    with store.write() as connection:
        connection.execute(sa.text("UPDATE metric SET value = 7 WHERE attempt_id IN (2, 3)"))
    second = store.query("SELECT run_id FROM attempt WHERE id = 2")[0]["run_id"]
    assert sums.changed_results(store, [second]) == [second]
    assert len(sums.changed_results(store, [*ids, lab.id("c")])) == 2


@pytest.mark.parametrize("change", CHANGES)
def test_they_tell_what_has_changed(store: Store, lab: Lab, change: str) -> None:
    lab.finish_all(store, lab.plan(store, lab.run("a"), lab.run("b")))
    with store.write() as connection:
        connection.execute(sa.text(change))
    assert {kind for kind, _ in wrong_sums(store)} == {CHANGES[change]}
    with store.write() as connection:
        sums.write_all(connection)
    assert wrong_sums(store) == []
