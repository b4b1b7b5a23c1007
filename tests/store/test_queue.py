"""The contract of claiming, on both databases: no run twice, none lost, no writing without a live lease."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.common.measured import MetricRow
from hashbench.store.engine import NOW, Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.queue import (
    LOSSES_PER_TRY,
    LeaseLost,
    abandon,
    claim,
    count_open,
    end_for,
    fail,
    heartbeat,
    pending,
    release,
)
from hashbench.store.result import Result, finish
from hashbench.store.schema import attempt, run
from hashbench.store.sqlite import HeartbeatMonitor
from hashbench.store.status import attempts, counts, running

if TYPE_CHECKING:
    from hashbench.store.queue import ClaimedRun
    from tests.store.conftest import Lab

CLAIMER = Path(__file__).with_name("claimer.py")


def start(
    place: str, experiment_id: int, worker: str, mode: str = "work", lease_s: float = 60
) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(CLAIMER), place, str(experiment_id), worker, mode, str(lease_s)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment, text=True, **pipes)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def state(store: Store, run_id: str) -> tuple[str, int]:
    with store.read() as connection:
        return tuple(connection.execute(sa.select(run.c.state, run.c.tries).where(run.c.id == run_id)).one())


@pytest.mark.e2e
def test_many_processes_claim_every_run_exactly_once(place: str, lab: Lab) -> None:
    store = open_store(place)
    experiment_id = lab.plan(store, *(lab.run(f"{number:04}") for number in range(120)))
    workers = [start(place, experiment_id, f"w{number}") for number in range(4)]
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outputs = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, [error for _, error in outputs]
    claimed = Counter(line for output, _ in outputs for line in output.split())
    assert len(claimed) == 120
    assert set(claimed.values()) == {1}
    assert counts(store, experiment_id)["done"] == 120
    assert store.query("SELECT COUNT(*) AS n FROM metric")[0]["n"] == 120
    store.close()


@pytest.mark.e2e
def test_a_killed_process_is_taken_over_when_its_lease_ends(place: str, lab: Lab) -> None:
    store = open_store(place)
    experiment_id = lab.plan(store, lab.run("a"))
    holder = start(place, experiment_id, "victim", mode="hold", lease_s=0.5)
    holder.stdin.write("go\n")
    holder.stdin.flush()
    assert holder.stdout.readline().strip() == lab.id("a")
    holder.kill()
    holder.communicate()
    until = time.monotonic() + 10
    while (taken := lab.claim(store, experiment_id, "heir")) is None:
        assert count_open(store, experiment_id, 2) == 1  # nobody may leave yet
        assert time.monotonic() < until
        time.sleep(0.02)
    assert [item.state for item in attempts(store, taken.run_id)] == ["lost", "running"]
    assert state(store, taken.run_id) == ("running", 0)  # being killed is no try
    finish(store, taken, Result())
    store.close()


def test_runs_come_in_planned_order_with_all_that_a_worker_needs(store: Store, lab: Lab) -> None:
    first = lab.run("z", kind="pretrain", task=None, seed=1, spec={"steps": 10, "words": "é"}, model="mine")
    experiment_id = lab.plan(store, first, lab.run("a", needs=["z"], model="mine"))
    held = lab.claim(store, experiment_id)
    assert (held.run_id, held.kind, held.model, held.task, held.seed) == (first.id, "pretrain", "mine", None, 1)
    assert (held.spec, held.needs, held.encoder, held.lease_s) == ({"steps": 10, "words": "é"}, (), "tiny", 60.0)
    assert lab.claim(store, experiment_id) is None  # its need is not done
    assert count_open(store, experiment_id, 2) == 2
    finish(store, held, Result())
    second = lab.claim(store, experiment_id)
    assert (second.run_id, second.needs) == (lab.id("a"), (first.id,))


def test_only_runs_of_the_kinds_that_are_asked_for(store: Store, lab: Lab) -> None:
    runs = [lab.run("e", kind="efficiency"), lab.run("p", kind="pretrain"), lab.run("f", needs=["p"])]
    experiment_id = lab.plan(store, *runs)
    training = ("pretrain", "finetune")
    given = {"worker": "w", "lease_s": 60, "max_attempts": 1}
    held = claim(store, experiment_id, **given, kinds=training)
    assert held.kind == "pretrain"
    assert claim(store, experiment_id, **given, kinds=training) is None
    assert count_open(store, experiment_id, 1, kinds=training) == 2
    assert count_open(store, experiment_id, 1, kinds=["efficiency"]) == 1
    fail(store, held, "broken")
    assert not pending(store, experiment_id, 1, kinds=training)
    assert claim(store, experiment_id, **given, kinds=["efficiency"]).run_id == lab.id("e")


def test_only_runs_of_the_experiment_are_claimed(store: Store, lab: Lab) -> None:
    one = lab.plan(store, lab.run("a"), name="one")
    two = lab.plan(store, lab.run("b"), name="two")
    assert lab.claim(store, two).run_id == lab.id("b")
    assert lab.claim(store, two) is None
    assert lab.claim(store, one).run_id == lab.id("a")


def test_a_clock_that_runs_ahead_takes_no_live_run(new_store: Callable[[str], Store], lab: Lab) -> None:
    store, ahead = new_store("results.db"), new_store("results.db")  # two processes on one file
    now = 0.0
    ahead.now = sa.literal_column(f"({NOW['sqlite']} + 90.0)", sa.Double)
    ahead.heartbeats = HeartbeatMonitor(clock=lambda: now)
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    assert lab.claim(ahead, experiment_id, "ahead") is None
    now = 45.0
    assert heartbeat(store, held)
    assert lab.claim(ahead, experiment_id, "ahead") is None
    now = 104.0
    assert lab.claim(ahead, experiment_id, "ahead") is None  # silent for 59 s
    now = 106.0
    assert lab.claim(ahead, experiment_id, "ahead").run_id == held.run_id
    assert not heartbeat(store, held)


def test_while_the_server_was_down_no_lease_ran_out(store: Store, lab: Lab) -> None:
    """A server that is back after an hour has heard of nobody: workers get a lease's time to be heard again."""
    if store.dialect == "sqlite":
        pytest.skip("SQLite has no server")
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    (up,) = store.query("SELECT EXTRACT(EPOCH FROM clock_timestamp() - pg_postmaster_start_time()) AS up")
    for lease, taken in ((float(up["up"]) + 3600.0, False), (float(up["up"]) / 2, True)):
        with store.write() as connection:
            silent = sa.update(attempt).where(attempt.c.id == held.attempt_id)
            connection.execute(silent.values(heartbeat_at=store.now - lease - 60.0, lease_until=store.now - 60.0))
        assert (lab.claim(store, 1) is not None) == taken


def test_a_clock_that_is_set_back_keeps_no_dead_workers_run(store: Store, lab: Lab) -> None:
    """Its heartbeats lie ahead then; who looks for a whole lease and hears none takes the run over."""
    if store.dialect == "sqlite":
        pytest.skip("SQLite has no server")
    now = 0.0
    store.heartbeats = HeartbeatMonitor(clock=lambda: now)
    held = lab.claim(store, lab.plan(store, lab.run("a")))

    def set_back(seconds: float) -> None:
        with store.write() as connection:
            later = {name: attempt.c[name] + seconds for name in ("started_at", "heartbeat_at", "lease_until")}
            connection.execute(sa.update(attempt).values(later))

    set_back(7200.0)
    assert lab.claim(store, 1, "other") is None
    now = 59.0
    assert lab.claim(store, 1, "other") is None
    set_back(10.0)  # as a living worker's next heartbeat changes it
    now = 100.0
    assert lab.claim(store, 1, "other") is None
    now = 159.0
    assert lab.claim(store, 1, "other") is None
    now = 161.0  # a lease of times of this size is 60 s but for rounding
    assert lab.claim(store, 1, "other").run_id == held.run_id
    assert not heartbeat(store, held)


def test_a_lease_is_prolonged_by_a_heartbeat(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    lab.expire(store, held)
    assert running(store)[0].lease_left_s < 0
    assert heartbeat(store, held)  # nobody took it over: a laptop that slept goes on
    assert 50 < running(store)[0].lease_left_s <= 60
    assert lab.claim(store, experiment_id) is None
    finish(store, held, Result())


def test_a_worker_that_lost_its_lease_can_write_nothing(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    slow = lab.claim(store, experiment_id, "slow")
    lab.expire(store, slow)
    quick = lab.claim(store, experiment_id, "quick")
    assert quick.run_id == slow.run_id
    assert quick.token != slow.token
    assert not heartbeat(store, slow)
    assert not fail(store, slow, "too late")
    assert not release(store, slow)
    with pytest.raises(LeaseLost, match="no longer the current one"):
        finish(store, slow, Result([MetricRow("accuracy", 0.1)]))
    finish(store, quick, Result([MetricRow("accuracy", 0.9)]))
    with pytest.raises(LeaseLost):
        finish(store, slow, Result([MetricRow("accuracy", 0.1)]))
    assert [row["value"] for row in store.query("SELECT value FROM metric")] == [0.9]
    assert state(store, quick.run_id) == ("done", 0)


def test_a_late_result_counts_while_nobody_took_over(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    lab.expire(store, held)
    finish(store, held, Result([MetricRow("accuracy", 0.1)]))
    assert state(store, held.run_id) == ("done", 0)
    assert [row["value"] for row in store.query("SELECT value FROM metric")] == [0.1]
    assert [item.state for item in attempts(store, held.run_id)] == ["done"]


def test_a_result_counts_after_its_attempt_was_given_up_as_lost(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    held = lab.claim(store, experiment_id)
    assert abandon(store, held.attempt_id, "the worker process is gone")
    assert lab.claim(store, experiment_id, "other").run_id == held.run_id
    with pytest.raises(LeaseLost):  # another is at it
        finish(store, held, Result([MetricRow("accuracy", 0.1)]))
    other = lab.claim(store, experiment_id)
    assert abandon(store, other.attempt_id, "the worker process is gone")
    finish(store, other, Result([MetricRow("accuracy", 0.2)]))
    assert state(store, other.run_id) == ("done", 0)
    assert [row["value"] for row in store.query("SELECT value FROM metric")] == [0.2]
    assert attempts(store, other.run_id)[0].reason is None


def test_a_failed_attempt_brings_no_result(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    fail(store, held, "broken")
    with pytest.raises(LeaseLost):
        finish(store, held, Result([MetricRow("accuracy", 0.1)]))
    assert not store.query("SELECT 1 FROM metric")


def test_a_token_of_another_attempt_does_not_pass(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    forged = replace(held, token="0" * 32)
    assert not heartbeat(store, forged)
    with pytest.raises(LeaseLost):
        finish(store, forged, Result())


def test_a_failed_run_is_tried_again_as_often_as_configured(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    for n in (1, 2, 3):
        held = lab.claim(store, experiment_id, retries=2)
        assert fail(store, held, f"reason {n}", log="the last lines")
        assert state(store, held.run_id) == ("failed", n)
    assert lab.claim(store, experiment_id, retries=2) is None
    assert not pending(store, experiment_id, max_attempts=3)
    assert count_open(store, experiment_id, max_attempts=4) == 1  # a sweep that allows more goes on
    found = attempts(store, held.run_id)
    assert [(item.state, item.reason) for item in found] == [("failed", f"reason {n}") for n in (1, 2, 3)]
    assert found[0].log == "the last lines"


def test_an_interrupted_attempt_is_no_try(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    for _ in range(3):
        held = lab.claim(store, experiment_id, retries=0)
        assert release(store, held)
        assert state(store, held.run_id) == ("planned", 0)
    assert lab.claim(store, experiment_id, retries=0) is not None


def test_a_dead_process_is_abandoned_without_waiting(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    lab.claim(store, experiment_id, "box7:41")
    other = lab.claim(store, experiment_id, "box7:42")
    dead = next(item for item in running(store, experiment_id) if item.worker == "box7:41")
    assert abandon(store, dead.attempt_id, "killed by signal 9")
    assert not abandon(store, dead.attempt_id, "twice")
    assert lab.claim(store, experiment_id).run_id == dead.run_id
    assert abandon(store, other.attempt_id, "out of memory", counts=True)
    assert state(store, other.run_id) == ("failed", 1)
    assert not heartbeat(store, other)


def test_a_run_that_kills_every_worker_comes_to_an_end(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    for n in range(1, LOSSES_PER_TRY + 1):
        held = lab.claim(store, experiment_id, retries=0)
        assert held is not None, n
        lab.expire(store, held)
    assert lab.claim(store, experiment_id, retries=0) is None
    assert state(store, held.run_id) == ("failed", 1)
    assert not pending(store, experiment_id, 1)


def test_what_waits_for_a_run_that_failed_for_good_is_not_pending(store: Store, lab: Lab) -> None:
    runs = [
        lab.run("p", kind="pretrain"),
        lab.run("f", needs=["p"]),
        lab.run("g", needs=["f", "p"]),  # blocked through two others
        lab.run("x"),
    ]
    experiment_id = lab.plan(store, *runs)
    fail(store, lab.claim(store, experiment_id, retries=0), "broken")
    assert count_open(store, experiment_id, max_attempts=1) == 1
    assert count_open(store, experiment_id, max_attempts=2) == 4
    lab.finish_all(store, lab.plan(store, runs[3], name="other"))
    assert not pending(store, experiment_id, max_attempts=1)
    assert counts(store, experiment_id) == {"planned": 2, "running": 0, "done": 1, "failed": 1, "void": 0}


def test_a_run_with_two_labels_is_claimed_once_and_counted_once(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a", model="mine"), lab.run("a", model="same"))
    assert counts(store, experiment_id)["planned"] == count_open(store, experiment_id, 2) == 1
    assert lab.claim(store, experiment_id) is not None
    assert lab.claim(store, experiment_id) is None


def test_equal_environments_are_stored_once(store: Store, lab: Lab) -> None:
    place = Environment("box7", "abc", "diff", {"b": "2", "a": "1"}, {"cores": 2}, "EPYC")
    same = Environment("box7", "abc", "diff", {"a": "1", "b": "2"}, {"cores": 2}, "EPYC")
    experiment_id = lab.plan(store, *(lab.run(name) for name in "abc"))
    for environment in (place, same, Environment("box8")):
        claim(store, experiment_id, worker="w", lease_s=60, max_attempts=1, environment=environment)
    assert store.query("SELECT COUNT(*) AS n FROM environment")[0]["n"] == 2
    assert [item.host for item in running(store)] == ["box7", "box7", "box8"]


def test_the_database_itself_refuses_a_second_attempt_in_flight(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    with store.read() as connection:
        row = dict(connection.execute(sa.select(attempt)).mappings().one())
    with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
        connection.execute(sa.insert(attempt).values({**row, "id": row["id"] + 1, "token": "another"}))
    assert heartbeat(store, held)


def stuck(store: Store, held: ClaimedRun, tries: int = 1) -> bool:
    return end_for(store, held.attempt_id, held.token, "hung", "its stack", seconds=7.0, tries=tries)


def test_who_cannot_end_its_attempt_has_it_ended_which_is_a_try(store: Store, lab: Lab) -> None:
    experiment = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment)
    assert held is not None and stuck(store, held) and not stuck(store, held)
    (attempt,) = attempts(store, held.run_id)
    assert (attempt.state, attempt.reason, attempt.log) == ("failed", "hung", "its stack")
    assert attempt.seconds == 7.0  # by the monotonic clock, whatever that of the database says
    with pytest.raises(LeaseLost):
        finish(store, held, lab.result())
    again = lab.claim(store, experiment)
    assert again is not None and stuck(store, again)
    assert lab.claim(store, experiment) is None and not pending(store, experiment, 2)


def test_an_end_for_another_that_uses_up_all_tries(store: Store, lab: Lab) -> None:
    experiment = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment)
    assert held is not None and stuck(store, held, tries=2)
    assert lab.claim(store, experiment) is None


def test_an_attempt_that_was_given_up_as_lost_still_becomes_a_try(store: Store, lab: Lab) -> None:
    """A worker that holds Python's lock prolongs no lease: without this its run would be tried for ever."""
    experiment = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment)
    assert held is not None and abandon(store, held.attempt_id, "the lease ran out")
    other = lab.claim(store, experiment, worker="other")
    assert other is not None and stuck(store, held)
    assert [one.state for one in attempts(store, held.run_id)] == ["failed", "running"]
    assert store.query("SELECT tries, state FROM run")[0] == {"tries": 1, "state": "running"}
    assert stuck(store, other)
    assert lab.claim(store, experiment) is None


def test_a_lost_attempt_at_a_run_that_waits_is_a_try_too(store: Store, lab: Lab) -> None:
    experiment = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment)
    assert held is not None and abandon(store, held.attempt_id, "the lease ran out") and stuck(store, held, tries=2)
    assert store.query("SELECT tries, state FROM run")[0] == {"tries": 2, "state": "failed"}
    assert lab.claim(store, experiment) is None and not pending(store, experiment, 2)


def test_no_end_for_another_touches_a_result(store: Store, lab: Lab) -> None:
    experiment = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment)
    assert held is not None
    finish(store, held, lab.result())
    assert not stuck(store, held)
    (attempt,) = attempts(store, held.run_id)
    assert attempt.state == "done" and attempt.log == ""
    assert store.query("SELECT state, tries FROM run")[0] == {"state": "done", "tries": 0}
