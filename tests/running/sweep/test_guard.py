"""Runs that are blocked in C: ended and tried again, whatever carries them out; and how a guard judges its worker."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from hashbench.common import clock
from hashbench.common.progress import RECORD
from hashbench.running.sweep import guard as guard_module
from hashbench.running.sweep.guard import SIGNS, Guard, Guarded, Watcher
from hashbench.store.engine import open_store
from tests.running.sweep.hanging import HANG, attempts_of, ended_and_tried_again, sweep
from tests.store.conftest import lab as lab
from tests.store.conftest import server as server


@pytest.mark.parametrize("how", ["locked", pytest.param("unlocked", marks=pytest.mark.slow)])
def test_a_run_that_sleeps_in_c_is_ended_and_tried_again(tmp_path, how):
    ended_and_tried_again(tmp_path, how, str(tmp_path / "r.db"))


@pytest.mark.services
@pytest.mark.parametrize("how", ["numba", "unlocked"])
def test_the_same_on_postgresql(tmp_path, server, how):
    from tests.store.conftest import empty_database

    empty_database(server)
    ended_and_tried_again(tmp_path, how, server)


@pytest.mark.slow
def test_a_run_that_always_hangs_fails_and_says_where(tmp_path):
    ended = sweep(tmp_path, "always-numba", str(tmp_path / "r.db"), **HANG)
    assert ended.returncode == 1
    store = open_store(tmp_path / "r.db")
    assert [state for state, *_ in attempts_of(store)] == ["failed", "failed"]
    assert "failed: raw blocked: hung: no sign of progress for " in ended.stderr
    assert store.query("SELECT state FROM run")[0]["state"] == "failed"


@pytest.mark.slow
def test_a_process_of_several_that_hangs_ends_all_of_them(tmp_path):
    ended = sweep(tmp_path, "always-locked", str(tmp_path / "r.db"), devices=2, **HANG)
    assert ended.returncode == 1
    tries = attempts_of(open_store(tmp_path / "r.db"))
    assert [(state, reason[:6]) for state, reason, *_ in tries] == [("failed", "hung: ")] * 2
    assert all(log.count("in carry_out_share") == 2 for *_, log in tries), "each process has left its stack"
    assert not [line for line in processes() if str(tmp_path) in line], "none of them lives"


def processes() -> list[str]:
    """The command line and environment of each process that this one may read."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((folder / "environ").read_bytes().decode(errors="replace"))
    return found


@pytest.mark.slow
def test_a_kind_that_gives_no_sign_is_ended_by_run_hours_alone(tmp_path):
    ended = sweep(tmp_path, "always-silent-locked", str(tmp_path / "r.db"), run_hours=0.001, **HANG)
    assert ended.returncode == 1
    ((state, reason, _, log),) = attempts_of(open_store(tmp_path / "r.db"))
    assert state == "failed" and reason.startswith("not done within run_hours: 0.001; it did not stop")
    assert "in carry_out" in log


@pytest.mark.slow
def test_a_sweep_whose_time_is_up_leaves_no_attempt_behind_that_is_blocked(tmp_path):
    ended = sweep(tmp_path, "always-silent-locked", str(tmp_path / "r.db"), max_hours=1)
    assert ended.returncode == 1 and "--max-hours: the time is up" in ended.stderr
    ((state, reason, *_),) = attempts_of(open_store(tmp_path / "r.db"))
    assert (state, reason) == ("lost", "it did not stop when the sweep was to end, so its process was ended")


ALONE = """
import ctypes, sys
from pathlib import Path
from hashbench.common.progress import progress
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep.attempt import Attempts
from hashbench.running.sweep.executors.base import OwnControl
from hashbench.store.engine import open_store
from hashbench.store.queue import claim
from hashbench.store.retry import Retry

store = open_store("r.db")
mine = Attempts(store, Retry("r.db", 1.0, tell=print), OwnControl(), ArtifactFolder(Path("c")), hang_s=3.0, speaks=True)

def work(stop):
    progress("sleeping")
    ctypes.PyDLL(None).sleep(10**6)

mine.carry_out(claim(store, 1, worker="w", lease_s=60.0, max_attempts=1), work)
"""


def test_without_a_sweep_a_line_says_why_the_command_ended(tmp_path, new_plan):
    store = new_plan(tmp_path / "r.db")
    ended = subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    # the guard may speak after its worker is gone, whose end `run` waits for; the pipe ends with the guard
    assert "hung: no sign of progress for " in ended.stderr and "hashbench log " in ended.stderr
    ((state, _, _, log),) = attempts_of(store)
    assert state == "failed" and "in work" in log


@pytest.fixture
def new_plan(lab):
    def make(path: Path):
        store = open_store(path)
        lab.plan(store, lab.run("a"))
        return store

    return make


@pytest.fixture
def now(monkeypatch):
    time = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: time[0])
    return time


def guarded(**values: object) -> Guarded:
    usual = {"db": "r.db", "attempt_id": 1, "token": "t", "run_id": "a" * 64, "hang_s": 60.0, "from_start": True}
    usual |= {"run_hours": None, "grace_s": 5.0, "max_attempts": 2, "speaks": False}
    return Guarded(**{**usual, **values})


def judged(watcher: Watcher, now: list[float], seconds: int) -> str:
    """What a watcher says after so many looks, one a second."""
    for _ in range(seconds):
        now[0] += 1.0
        if reason := watcher.look():
            return reason
    return ""


def test_a_watcher_judges_the_attempt_that_was_begun_last(tmp_path, now):
    watcher = Watcher(tmp_path, os.getpid())
    assert judged(watcher, now, 10_000) == ""  # between attempts nothing is watched
    watcher.hear({"what": "begin", **asdict(guarded(hang_s=None, run_hours=1.0))})
    (tmp_path / SIGNS).write_bytes(RECORD.pack(1.0, True, b"training"))
    assert judged(watcher, now, 3604) == ""
    watcher.hear({"what": "begin", **asdict(guarded(token="inner"))})
    assert judged(watcher, now, 60) == ""
    watcher.hear({"what": "end"})
    assert judged(watcher, now, 3604) == "", "its time counts anew after another attempt"
    assert judged(watcher, now, 1).startswith("not done within run_hours: 1; it did not stop")
    watcher.hear({"what": "again"})
    assert judged(watcher, now, 3604) == ""


def test_a_silent_worker_is_hung_unless_a_process_of_it_was_stopped(tmp_path, now, monkeypatch):
    watcher = Watcher(tmp_path, os.getpid())
    watcher.hear({"what": "begin", **asdict(guarded())})
    (tmp_path / SIGNS).write_bytes(RECORD.pack(1.0, True, b"training"))
    monkeypatch.setattr(guard_module, "is_one_stopped", lambda *_, **__: True)
    assert judged(watcher, now, 1000) == ""
    monkeypatch.setattr(guard_module, "is_one_stopped", lambda *_, **__: False)
    reason = judged(watcher, now, 61)
    assert reason.startswith("hung: no sign of progress for 60 s; its process was ended on ")
    assert reason.endswith(", in: training; its log has the stack")


class Recorded(Guard):
    """A guard whose messages are kept, and whose process is of no account."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.is_alive = False

    def _start(self) -> None:
        self.is_alive = True
        self._process = self  # type: ignore[assignment]

    def poll(self) -> int | None:
        return None if self.is_alive else 1

    def kill(self) -> None:
        self.is_alive = False

    def wait(self) -> None:
        pass

    def _send(self, what: str, values: object) -> None:
        self.sent.append(json.loads(json.dumps({"what": what, **values}))["what"])  # type: ignore[dict-item]


def test_a_guard_that_is_gone_is_replaced_and_hears_of_all_attempts():
    guard = Recorded()
    guard.begin(guarded())
    guard.begin(guarded(token="inner"))
    assert guard.sent == ["begin", "begin"]
    guard.is_alive = False
    guard.note_log("")
    assert guard.sent[2:] == ["begin", "begin"]
    guard.end()
    guard.is_alive = False
    guard.end()
    assert guard.sent[4:] == ["end"], "nothing is left to guard"
    guard.again()
    assert guard.sent[4:] == ["end"]


def test_a_guard_whose_folder_was_removed_is_replaced(tmp_path):
    guard = Recorded()
    guard.begin(guarded())
    guard.folder = tmp_path
    (tmp_path / SIGNS).touch()
    guard.note_log("its log")
    assert guard.sent == ["begin"] and (tmp_path / guard_module.LOG).read_text() == "its log"
    (tmp_path / SIGNS).unlink()
    guard.note_log("")
    assert guard.sent == ["begin", "begin"] and guard.is_alive


def test_where_no_process_can_be_started_runs_go_on_unguarded(monkeypatch, capsys):
    def fails(*_: object) -> None:
        raise OSError("no room")

    guard = Guard()
    monkeypatch.setattr(guard, "_start", fails)
    guard.begin(guarded())
    guard.end()
    assert capsys.readouterr().err == "runs that hang are not ended here: no room\n"
