"""A worker while its database is away: nothing that is ready is lost."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
import torch

from hashbench.common import clock
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep import attempt as attempt_module
from hashbench.running.sweep import worker as worker_module
from hashbench.running.sweep.attempt import Control
from hashbench.running.sweep.housekeeping import ResultSpool
from hashbench.running.sweep.progress import Event, RunEnded
from hashbench.running.training.machine import Machine
from hashbench.running.training.module import NotFinite
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run
from hashbench.store.queue import ClaimedRun
from hashbench.store.result import Result
from hashbench.store.status import attempts, counts
from tests.running.sweep.idle import KIND, make_assignment, nothing


class Watched(Control):
    """Of a worker in this process; remembers what it was told."""

    def __init__(self) -> None:
        self.stop, self.events = threading.Event(), list[Event]()

    def is_set(self) -> bool:
        return self.stop.is_set()

    def wait(self, seconds: float) -> None:
        self.stop.wait(seconds / 100)

    def tell(self, event: Event) -> None:
        self.events.append(event)


def away() -> sa.exc.OperationalError:
    original = sqlite3.OperationalError("disk I/O error")
    original.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return sa.exc.OperationalError("COMMIT", {}, original)


class Bench:
    """A worker with runs that do nothing, and faults in its calls of the store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch, self.control = folder, monkeypatch, Watched()
        self.seen: list[str] = []
        self.machines: list[Machine] = []
        self.machines_runs: list[str] = []
        self.carry_out: Callable[[], None] = lambda: None
        self.worker = worker_module.Worker(make_assignment(folder, 3), self.control)
        monkeypatch.setattr(self.worker, "_on_devices", self._do)
        self.store = open_store(folder / "r.db")
        self.spool = ResultSpool(ArtifactFolder(folder / "cache"))

    def _do(self, run: Run, machine: Machine) -> Result:
        self.machines.append(machine)
        self.machines_runs.append(run.id)
        self.carry_out()
        return nothing()

    def allow(self, *, tries: int) -> None:
        """How often a run is tried."""
        self.worker._assignment = replace(self.worker._assignment, max_attempts=tries)

    def breaks(self, name: str, times: int, *, after: bool = False) -> None:
        """The next calls of a function of the store fail; `after`: once they are done, the answer gets lost."""
        module = worker_module if hasattr(worker_module, name) else attempt_module
        whole, left = getattr(module, name), times

        def call(*arguments: object, **more: object) -> object:
            nonlocal left
            failing, left = left > 0, left - 1
            result = whole(*arguments, **more) if after or not failing else None
            if failing:
                self.seen.append(name)
                raise away()
            return result

        self._patch.setattr(module, name, call)

    @property
    def on_disk(self) -> int:
        return len(list((self.folder / "cache" / "finished").glob("*.npz")))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def done_once(store: Store) -> None:
    assert counts(store, 1) == {"planned": 0, "running": 0, "done": 3, "failed": 0, "void": 0}
    rows = store.query("SELECT COUNT(*) AS n FROM attempt")
    assert rows[0]["n"] == 3


@pytest.mark.parametrize("name", ["open_store", "claim", "pending", "finish"])
@pytest.mark.parametrize("after", [False, True])
def test_every_call_is_made_again_until_the_database_answers(bench: Bench, name: str, after: bool) -> None:
    bench.breaks(name, 3, after=after)
    bench.worker.loop()
    assert bench.seen == [name] * 3
    done_once(bench.store)
    assert bench.on_disk == 0
    assert {event.state for event in bench.control.events if isinstance(event, RunEnded)} == {"done"}


def test_the_time_without_a_database_is_none_of_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run takes five seconds and each try to store it a thousand; two tries fail."""
    now, handed_in, finish = [100.0], [], attempt_module.finish

    def passes(seconds: float) -> None:
        now[0] += seconds

    def noted(store: Store, held: ClaimedRun, result: Result) -> None:
        handed_in.append(result.seconds)
        finish(store, held, result)

    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    monkeypatch.setattr(attempt_module, "finish", noted)
    bench.breaks("finish", 2)
    broken = attempt_module.finish

    def slow(store: Store, held: ClaimedRun, result: Result) -> None:
        passes(1000.0)
        broken(store, held, result)

    monkeypatch.setattr(attempt_module, "finish", slow)
    bench.carry_out = lambda: passes(5.0)
    bench.worker.loop()
    assert handed_in == [5.0, 5.0, 5.0]


def test_a_failure_is_written_down_when_the_database_answers(bench: Bench) -> None:
    def broken() -> None:
        raise ValueError("broken")

    bench.carry_out = broken
    bench.breaks("fail", 2)
    bench.worker.loop()
    assert counts(bench.store, 1)["failed"] == 3


def test_a_ready_result_of_a_worker_that_is_stopped_meanwhile_is_kept_and_handed_in_later(bench: Bench) -> None:
    bench.carry_out = bench.control.stop.set  # the sweep is stopped during its first run
    bench.breaks("finish", 100)
    bench.worker.loop()
    assert bench.on_disk == 1
    assert counts(bench.store, 1) == {"planned": 2, "running": 1, "done": 0, "failed": 0, "void": 0}
    (run_id,) = bench.spool.hand_in(bench.store)
    assert counts(bench.store, 1)["done"] == 1
    (attempt,) = attempts(bench.store, run_id)
    assert attempt.state == "done" and attempt.notes["sources"]


def test_memory_that_is_too_small_is_met_once_with_half_the_rows_at_a_time(bench: Bench) -> None:
    def hungry() -> None:
        if not bench.machines[-1].halved:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    bench.carry_out = hungry
    bench.worker.loop()
    done_once(bench.store)
    assert [machine.halved for machine in bench.machines] == [False, True] * 3
    (attempt,) = attempts(bench.store, bench.machines_runs[0])
    assert "out of memory; again with half the rows" in attempt.log


def test_memory_that_is_too_small_for_half_the_rows_too_is_the_reason_of_a_failure(bench: Bench) -> None:
    def hungry() -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

    bench.carry_out = hungry
    bench.worker.loop()
    assert counts(bench.store, 1)["failed"] == 3 and len(bench.machines) == 6
    assert "can't allocate memory" in str(attempts(bench.store, bench.machines_runs[0])[0].reason)


def test_a_loss_that_is_no_number_fails_for_good_and_leaves_no_checkpoint(bench: Bench) -> None:
    def diverged() -> None:
        bench.machines[-1].folder.mkdir(parents=True)
        raise NotFinite("the loss is nan at step 7; try a smaller learning_rate")

    bench.carry_out = diverged
    bench.allow(tries=3)
    bench.worker.loop()
    assert counts(bench.store, 1)["failed"] == 3 and len(bench.machines) == 3
    (attempt,) = attempts(bench.store, bench.machines_runs[0])
    assert attempt.reason == "the loss is nan at step 7; try a smaller learning_rate"
    assert not any(machine.folder.exists() for machine in bench.machines)


def test_a_deleted_database_ends_the_worker_and_keeps_its_result(bench: Bench) -> None:
    bench.carry_out = (bench.folder / "r.db").unlink
    bench.worker.loop()
    assert bench.on_disk == 1
    saved = open_store(bench.worker._store.save_copy(), create=False)
    assert len(bench.spool.hand_in(saved)) == 1
    assert counts(saved, 1) == {"planned": 2, "running": 0, "done": 1, "failed": 0, "void": 0}


class Clock:
    """Seconds that pass while somebody waits; in the place of the end of an attempt, and of the module `time`."""

    def __init__(self, lasts: float) -> None:
        self.now, self._lasts = 0.0, lasts

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now > self._lasts


def test_a_result_outlives_a_file_that_is_damaged_meanwhile(bench: Bench) -> None:
    path = bench.folder / "r.db"
    whole = path.read_bytes()

    def damage() -> None:
        bench.store.settle()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'attempt'").fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
        nonlocal whole
        whole = path.read_bytes()
        path.write_bytes(whole[: (page - 1) * size] + bytes(size) + whole[page * size :])

    bench.carry_out = damage
    bench.worker.loop()  # ends without an error of its own
    assert bench.on_disk == 1 and len(bench.machines) == 1
    for file in bench.folder.glob("r.db-*"):
        file.unlink()
    path.write_bytes(whole)
    bench.carry_out = lambda: None
    assert bench.spool.hand_in(open_store(path)) == bench.machines_runs


def test_a_heartbeat_that_nobody_heard_is_repeated_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that after an outage a lease is prolonged before idle workers look for what is over."""
    clock, beats, left = Clock(lasts=60), list[float](), 5

    def beat(*_: object) -> bool:
        nonlocal left
        beats.append(clock.now)
        left -= 1
        if left >= 0:
            raise away()
        return True

    monkeypatch.setattr(attempt_module, "heartbeat", beat)
    monkeypatch.setattr(attempt_module, "time", clock)
    running = attempt_module.Heartbeat(bench.store, None, None, bench.control)  # type: ignore[arg-type]
    running._done = clock  # type: ignore[assignment]
    running._beat()
    assert beats == [15, 16, 17, 18, 19, 20, 35, 50]


@pytest.mark.parametrize("own", [None, "9"])
@pytest.mark.parametrize("short", [0, 1])
def test_few_operations_are_kept_where_all_runs_have_long_steps(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, short: int, own: str | None
) -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    monkeypatch.setattr(os, "environ", dict.fromkeys(names, own) if own else {})
    ids = list(bench.worker._assignment.runs)
    monkeypatch.setattr(KIND, "has_long_steps", lambda run: run.id not in ids[:short], raising=False)
    seen: list[dict[str, str]] = []
    bench.carry_out = lambda: seen.append({name: os.environ[name] for name in names if name in os.environ})
    bench.worker.loop()
    wanted = own or ("" if short else "128")
    assert seen == [dict.fromkeys(names, wanted) if wanted else {}] * 3
