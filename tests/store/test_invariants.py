"""What must hold whatever happens: random lives of a queue beside a model of it, processes killed at random."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store, open_store
from hashbench.store.queue import ClaimedRun, LeaseLost, abandon, claim, fail, heartbeat, pending, release
from hashbench.store.result import Result, finish
from hashbench.store.schema import run
from hashbench.store.status import attempts, counts, running
from tests.slow.faults.runs import INVARIANTS
from tests.store.noted import wrong_notes

if TYPE_CHECKING:
    from tests.store.conftest import Lab

CLAIMER = Path(__file__).with_name("claimer.py")
RETRIES = 2


def check(store: Store) -> None:
    """The rules that tie the tables together."""
    for what, sql in INVARIANTS.items():
        assert not store.query(sql), what
    assert wrong_notes(store) == []


@dataclass
class Held:
    """A claim as its worker remembers it, and whether it still owns the run."""

    claim: ClaimedRun
    owns: bool = True
    expired: bool = False
    lost: bool = False  # given up, without another attempt since
    done: bool = False


class Life:
    """Random operations on a store, and beside it what each must answer."""

    def __init__(self, store: Store, lab: Lab, seed: int) -> None:
        self.store, self.lab, self.random = store, lab, random.Random(seed)
        self.names = [f"{number:04}" for number in range(5)]
        runs = [lab.run(name, needs=self.names[:1] if name != self.names[0] else ()) for name in self.names]
        self.experiment_id = lab.plan(store, *runs)
        self.states = {row.id: "planned" for row in runs}
        self.tries = dict.fromkeys(self.states, 0)
        self.held: list[Held] = []

    def may_be_claimed(self) -> list[str]:
        first = self.lab.id(self.names[0])
        ready = [i for i, state in self.states.items() if i == first or self.states[first] == "done"]
        lost = {item.claim.run_id for item in self.held if item.owns and item.expired}
        free = [i for i in ready if self.states[i] == "planned" or i in lost]
        return free + [i for i in ready if self.states[i] == "failed" and self.tries[i] <= RETRIES]

    def claim(self) -> None:
        expected = sorted(self.may_be_claimed())
        taken = self.lab.claim(self.store, self.experiment_id, retries=RETRIES)
        for item in self.held:
            if item.owns and item.expired:
                self._lost(item)
        assert (taken.run_id if taken else None) == (expected[0] if expected else None)
        if taken:
            self.states[taken.run_id] = "running"
            for item in self.held:
                item.lost = item.lost and item.claim.run_id != taken.run_id
            self.held.append(Held(taken))

    def finish(self, item: Held) -> None:
        result = Result([MetricRow("f1", self.random.random(), "validation")])
        if item.owns or item.lost:
            finish(self.store, item.claim, result)
            self._ended(item, "done")
        elif item.done:
            finish(self.store, item.claim, result)  # stored already
        else:
            with pytest.raises(LeaseLost):
                finish(self.store, item.claim, result)

    def fail(self, item: Held) -> None:
        assert fail(self.store, item.claim, "broken") == item.owns
        if item.owns:
            self.tries[item.claim.run_id] += 1
            self._ended(item, "failed")

    def release(self, item: Held) -> None:
        assert release(self.store, item.claim) == item.owns
        if item.owns:
            self._ended(item, "planned")

    def abandon(self, item: Held) -> None:
        assert abandon(self.store, item.claim.attempt_id, "dead") == item.owns
        if item.owns:
            self._lost(item)

    def heartbeat(self, item: Held) -> None:
        assert heartbeat(self.store, item.claim) == item.owns
        item.expired = item.expired and not item.owns

    def expire(self, item: Held) -> None:
        if item.owns:
            self.lab.expire(self.store, item.claim)
            item.expired = True

    def _ended(self, item: Held, state: str) -> None:
        item.owns, item.lost, item.done = False, False, state == "done"
        self.states[item.claim.run_id] = state

    def _lost(self, item: Held) -> None:
        self._ended(item, "planned")
        item.lost = True

    def step(self) -> None:
        deeds = [self.finish, self.fail, self.release, self.abandon, self.heartbeat, self.expire]
        if not self.held or self.random.random() < 0.35:
            self.claim()
        else:
            self.random.choice(deeds)(self.random.choice(self.held))


@pytest.mark.e2e
@pytest.mark.parametrize("seed", range(4))
def test_a_random_life_of_the_queue(store: Store, lab: Lab, seed: int) -> None:
    life = Life(store, lab, seed)
    for _ in range(60):
        life.step()
        check(store)
        with store.read() as connection:
            rows = connection.execute(sa.select(run.c.id, run.c.state, run.c.tries)).all()
        assert {row.id: (row.state, row.tries) for row in rows} == {
            key: (life.states[key], life.tries[key]) for key in life.states
        }
    assert len(life.held) > 5


@pytest.mark.e2e
def test_processes_killed_at_random_moments(place: str, lab: Lab) -> None:
    """SIGKILL while claiming and finishing; those who come later complete every run, once."""
    store = open_store(place)
    experiment_id = lab.plan(store, *(lab.run(f"{number:04}") for number in range(150)))
    source = random.Random(0)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, str(CLAIMER), place, str(experiment_id)]
    workers = [
        subprocess.Popen([*command, f"w{number}", "work", "60"], env=environment, text=True, **pipes)
        for number in range(3)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
        for _ in range(3):  # so many claimed: two are done
            worker.stdout.readline()
        time.sleep(source.uniform(0, 0.05))
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
    check(store)
    assert pending(store, experiment_id, 1)  # else the kills came too late to show anything
    before = store.query("SELECT id, finished_attempt FROM run WHERE state = 'done' ORDER BY id")
    assert before
    for dead in running(store):
        abandon(store, dead.attempt_id, "its process is gone")
    lab.finish_all(store, experiment_id)
    check(store)
    assert counts(store, experiment_id)["done"] == 150
    after = {row["id"]: row["finished_attempt"] for row in store.query("SELECT id, finished_attempt FROM run")}
    assert all(after[row["id"]] == row["finished_attempt"] for row in before)  # no finished run was done again
    store.close()


def test_a_reader_never_sees_half_a_result(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, *(lab.run(f"{number:04}") for number in range(30)))
    metrics = [MetricRow("f1", 0.5, "validation", step) for step in range(50)]
    over = threading.Event()
    seen: list[set[int]] = []

    def look() -> None:
        joined = "run r LEFT JOIN attempt a ON a.run_id = r.id LEFT JOIN metric m ON m.attempt_id = a.id"
        sql = f"SELECT r.state, COUNT(m.name) AS n FROM {joined} GROUP BY r.id, r.state"
        while not over.is_set():
            seen.append({row["n"] for row in store.query(sql) if row["state"] == "done"})

    reader = threading.Thread(target=look)
    reader.start()
    while (held := lab.claim(store, experiment_id)) is not None:
        finish(store, held, Result(metrics))
    over.set()
    reader.join()
    assert set().union(*seen) == {50}


@pytest.mark.e2e
def test_a_heartbeat_from_a_thread_keeps_a_short_lease(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    held = claim(store, experiment_id, worker="w", lease_s=0.8, max_attempts=1)
    over = threading.Event()

    def beat() -> None:
        while not over.wait(0.1):
            assert heartbeat(store, held)

    beating = threading.Thread(target=beat)
    beating.start()
    until = time.monotonic() + 1.6  # twice the lease
    while time.monotonic() < until:
        assert lab.claim(store, experiment_id, "thief") is None
        time.sleep(0.05)
    over.set()
    beating.join()
    heartbeat(store, held)
    finish(store, held, Result())
    assert [item.state for item in attempts(store, held.run_id)] == ["done"]
    assert not pending(store, experiment_id, 1)


def test_what_the_store_costs_a_run(tmp_path: Path, lab: Lab) -> None:
    """Claim, heartbeat and finish of a run with a usual number of metrics: milliseconds of the 0.2 s a run may cost."""
    store = open_store(tmp_path / "results.db")
    experiment_id = lab.plan(store, *(lab.run(f"{number:04}") for number in range(30)))
    metrics = [MetricRow("f1", 0.5, "validation", step) for step in range(40)]
    times = []
    while True:
        start = time.perf_counter()
        held = lab.claim(store, experiment_id)
        if held is None:
            break
        heartbeat(store, held)
        finish(store, held, Result(metrics))
        times.append(time.perf_counter() - start)
    assert sorted(times)[len(times) // 2] < 0.1  # measured: 5 ms on an idle core
    store.close()
