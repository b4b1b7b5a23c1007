"""Workers on this machine: what they report, what they hear, and what is done where one hangs or is killed."""

import contextlib
import queue
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hashbench.common import clock
from hashbench.common.progress import RECORD
from hashbench.running.sweep import local
from hashbench.running.sweep.local import SIGNS, LocalExecutor, WorkerProcess
from hashbench.running.sweep.progress import RunStarted, Watched, WorkerEnded, as_line
from tests.running.sweep.idle import make_assignment

LATEST_S = 600.0  # a worker has begun or ended, also on a machine that others use
# The worker's side of the connection; it leaves `stopped` or `abandoned` in a file
CHILD = """
import sys, time
from pathlib import Path
from hashbench.running.sweep.progress import RunStarted
from hashbench.running.sweep.worker import Parent

left, folder = map(Path, sys.argv[1:])
control = Parent(0, folder)
print("what a run prints is no event")
assert not control.is_set() and not control.is_abandoned()
control.tell(RunStarted(0, "r", "a run"))
control.wait(100.0)
assert control.is_set()
left.write_text("abandoned" if control.is_abandoned() else "stopped")
"""
PARENT = """
import sys
from hashbench.running.sweep.local import WorkerProcess

worker = WorkerProcess(sys.argv[1:], 0, None, lambda event: print("here", flush=True))
sys.stdin.read()
"""


def child(left: Path) -> list[str]:
    return [sys.executable, "-c", CHILD, str(left)]


def test_a_worker_hears_the_wish_to_stop_and_its_events_arrive(tmp_path):
    said = queue.SimpleQueue()
    worker = WorkerProcess(child(tmp_path / "left"), 0, 60.0, said.put)
    assert said.get(timeout=LATEST_S) == RunStarted(0, "r", "a run")
    worker.stop()
    assert said.get(timeout=LATEST_S) == WorkerEnded(0)
    assert (tmp_path / "left").read_text() == "stopped"
    worker.stop()  # of one that has ended


def test_a_worker_sees_that_its_parent_was_killed(tmp_path):
    left = tmp_path / "left"
    command = [sys.executable, "-c", PARENT, *child(left)]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout.readline() == "here\n"
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + LATEST_S
    while not left.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left.read_text() == "abandoned"
    parent.stdout.close()
    parent.stdin.close()


def saying(*lines: str, then: str) -> list[str]:
    """A command that says these lines as a worker does, then does something."""
    return [sys.executable, "-c", f"import os, sys; sys.stdout.write({''.join(lines)!r}); sys.stdout.flush(); {then}"]


def reports(command: list[str]) -> list:
    """All that a worker reports."""
    said, events = queue.SimpleQueue(), []
    WorkerProcess(command, 0, 60.0, said.put)
    while not events or not isinstance(events[-1], WorkerEnded):
        events.append(said.get(timeout=LATEST_S))
    return events


@pytest.mark.parametrize(("code", "is_try"), [(-9, False), (-15, False), (-1, False), (-11, True), (1, True)])
def test_a_worker_killed_from_outside_is_no_try_of_its_run(code, is_try):
    does = f"os.kill(os.getpid(), {-code})" if code < 0 else f"sys.exit({code})"
    (ended,) = reports(saying(then=does))
    assert ended.is_try is is_try and ended.how.endswith(f" ended with code {code}") and not ended.hung


def test_what_a_killed_worker_had_told_arrives():
    told = RunStarted(0, "r", "a run")
    half = as_line(RunStarted(0, "s", "half"))[:20]  # killed in the middle of a word
    first, ended = reports(saying(as_line(told), half, then="os.kill(os.getpid(), 9)"))
    assert first == told and ended.how


def test_nothing_that_it_started_outlives_a_worker(tmp_path):
    said = tmp_path / "pid"
    starts = (
        f"import subprocess; open({str(said)!r}, 'w').write(str(subprocess.Popen(['sleep', '1000']).pid)); sys.exit(1)"
    )
    (ended,) = reports(saying(then=starts))
    assert ended.how
    with contextlib.suppress(psutil.NoSuchProcess):
        assert psutil.Process(int(said.read_text())).wait(60) is None  # killed, if not gone already


@pytest.fixture
def now(monkeypatch):
    time_ = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: time_[0])
    return time_


@pytest.fixture
def watched(tmp_path):
    """A worker that does nothing, and whose looks the test makes itself."""
    worker = WorkerProcess.__new__(WorkerProcess)
    worker._hang_s, worker._folder, worker._hung = 60.0, tmp_path, ""
    worker._process = subprocess.Popen(["sleep", "1000"])
    yield worker
    worker._process.kill()
    worker._process.wait()


def begin(worker: WorkerProcess, *attempts: tuple[int, str, float], hang_s: float | None = 60.0) -> None:
    """An attempt, or none, from now on."""
    worker._hang_s = hang_s
    worker._process.stdout = [as_line(Watched(0, attempts, gives_signs=True)).encode()]
    worker._listen()


def judged(worker: WorkerProcess, now: list[float], seconds: int) -> str:
    """What is found after so many looks, one a second."""
    for _ in range(seconds):
        now[0] += 1.0
        if reason := worker._why_to_end():
            return reason
    return ""


def test_the_attempt_that_was_begun_last_is_watched(watched, tmp_path, now):
    begin(watched)
    assert judged(watched, now, 10_000) == ""  # between attempts nothing is watched
    outer, inner = (1, "t", 0.0), (2, "u", 0.0)
    (tmp_path / SIGNS).write_bytes(RECORD.pack(1.0, True, b"training"))
    begin(watched, outer, hang_s=None)
    assert judged(watched, now, 10_000) == ""
    begin(watched, outer, inner)
    assert judged(watched, now, 59) == ""
    begin(watched, outer)
    assert judged(watched, now, 59) == "", "its silence counts anew after another attempt"
    assert judged(watched, now, 2).startswith("hung: no sign of progress for")


def test_a_silent_worker_is_hung_unless_it_was_stopped(watched, tmp_path, now, monkeypatch):
    (tmp_path / SIGNS).write_bytes(RECORD.pack(1.0, True, b"training"))
    begin(watched, (1, "t", 0.0))
    monkeypatch.setattr(local, "is_stopped", lambda _: True)
    assert judged(watched, now, 1000) == ""
    monkeypatch.setattr(local, "is_stopped", lambda _: False)
    reason = judged(watched, now, 62)
    assert reason.startswith("hung: no sign of progress for 60 s; its process was ended on ")
    assert reason.endswith(", in: training; its log has the stack")


def test_workers_get_a_file_that_nobody_else_reads_and_their_gpus(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(local, "WorkerProcess", lambda *arguments, **more: given.append((arguments, more)))
    executor = LocalExecutor(replace(make_assignment(tmp_path, 1), gpus=("0,1", "2,3")), 3)
    for number in range(3):
        executor.start(number)
    (file,) = {arguments[0][-2] for arguments, _ in given}
    assert Path(file).stat().st_mode & 0o077 == 0
    seen = [(arguments[0][-1], more["environment"]["CUDA_VISIBLE_DEVICES"]) for arguments, more in given]
    assert seen == [("0", "0,1"), ("1", "2,3"), ("2", "0,1")]
    executor._workers.clear()
    executor.kill()
    assert not Path(file).exists()


def test_a_worker_imports_nothing_from_the_working_folder(tmp_path):
    for name in ("csv.py", "torch.py", "hashbench.py"):
        (tmp_path / name).write_text("from pathlib import Path\nPath('ran').touch()\n")
    command = [*local.worker_command("no file", 0), str(tmp_path)]
    ended = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "No such file or directory: 'no file'" in ended.stderr and not (tmp_path / "ran").exists()


def test_a_cleaned_temporary_folder_stops_no_sweep(tmp_path: Path) -> None:
    """Systems remove old files of it, and a sweep takes days: the next worker finds its assignment."""
    executor = LocalExecutor(make_assignment(tmp_path, 1), 1)
    first = Path(executor.command(0)[-2])
    packed = first.read_bytes()
    first.unlink()
    try:
        executor.start(0)
        again = Path(executor.command(0)[-2])
        assert again.read_bytes() == packed and again.stat().st_mode & 0o077 == 0
        again.unlink()
    finally:
        executor.kill()
