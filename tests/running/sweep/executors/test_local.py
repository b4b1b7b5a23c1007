"""Workers on this machine: what their parent says to them, and what they see of its end."""

import os
import pickle
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from hashbench.running.sweep.executors import local
from hashbench.running.sweep.executors.local import LocalExecutor, LocalWorker, ProcessControl
from hashbench.running.sweep.progress import RunStarted

CHILD = """
import multiprocessing, sys, time
from pathlib import Path


def live(left: str) -> None:
    from hashbench.running.sweep.executors.local import ProcessControl

    context = multiprocessing.get_context("spawn")
    control = ProcessControl(context.Pipe()[0])
    assert not control.is_abandoned()
    print("here", flush=True)
    while not control.is_abandoned():
        time.sleep(0.05)
    Path(left).write_text("abandoned")


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=live, args=(sys.argv[1],))
    process.start()
    process.join()
"""


def test_a_worker_sees_that_its_parent_was_killed(tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    left = tmp_path / "left"
    parent = subprocess.Popen([sys.executable, tmp_path / "child.py", left], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None and parent.stdout.readline() == "here\n"
    assert not left.exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 60
    while not left.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left.exists()
    parent.stdout.close()


def test_a_worker_hears_the_wish_to_stop_and_its_events_arrive():
    ours, theirs = get_context("spawn").Pipe()
    control = ProcessControl(theirs)
    control.tell(RunStarted(0, "r", "a run"))
    assert ours.recv() == RunStarted(0, "r", "a run")
    assert not control.is_set() and not control.is_abandoned()
    ours.send(None)
    assert control.is_set() and control.is_set()
    alone = ProcessControl(get_context("spawn").Pipe()[0])
    alone.signalled()
    assert alone.is_set()
    ours.close()
    control.tell(RunStarted(0, "r", "nobody watches"))
    assert control.is_set()


def test_a_worker_whose_pipe_has_ended_stops():
    ours, theirs = get_context("spawn").Pipe()
    control = ProcessControl(theirs)
    ours.close()
    assert control.is_set()


class Stub:
    """A process as the executor sees it."""

    pid = 7

    def __init__(self, exitcode=None):
        self.exitcode = exitcode

    def is_alive(self):
        return self.exitcode is None


def executor_with(*workers):
    made = LocalExecutor.__new__(LocalExecutor)
    made._stopping, made._workers = False, list(workers)
    made._started = lambda index: LocalWorker(Stub(), None, "w:7")
    return made


@pytest.mark.parametrize(("code", "is_try"), [(-9, False), (-15, False), (-1, False), (-11, True), (1, True)])
def test_a_worker_killed_from_outside_is_no_try_of_its_run(code, is_try):
    (crash,) = executor_with(LocalWorker(Stub(code), None, "w:7")).replace_crashed()
    assert crash.is_try is is_try and crash.how == f"worker 7 ended with code {code}" and crash.worker == "w:7"


def test_what_a_killed_worker_had_told_arrives_and_the_others_go_on():
    first, second = (get_context("spawn").Pipe() for _ in range(2))
    made = executor_with(LocalWorker(Stub(-9), first[0], "w:7"), LocalWorker(Stub(), second[0], "w:7"))
    ProcessControl(first[1]).tell(RunStarted(0, "r", "a run"))
    os.write(first[1].fileno(), b"\x00\x00\x01\x00half")  # killed in the middle of a word
    first[1].close()
    assert made.replace_crashed() == []  # not before all of it was heard
    assert made.event(wait_s=5) == RunStarted(0, "r", "a run")
    assert made.event(wait_s=5) is None
    assert len(made.replace_crashed()) == 1
    ProcessControl(second[1]).tell(RunStarted(1, "s", "another"))
    assert made.event(wait_s=5) == RunStarted(1, "s", "another")
    assert not made.ended()


def test_a_sweep_whose_only_worker_was_killed_has_not_ended():
    # its pipe has ended, and nobody has looked at its exit yet
    made = executor_with(LocalWorker(Stub(-9), None, "w:7"))
    assert not made.ended()
    assert len(made.replace_crashed()) == 1
    made._workers[0].process.exitcode = 0
    assert made.ended()


def test_nobody_is_waited_for_once_the_sweep_is_asked_to_end():
    made = executor_with(LocalWorker(Stub(-9), None, "w:7"), LocalWorker(Stub(0), None, "w:7"))
    made._stopping = True
    assert made.ended()


class Recording:
    """A context whose processes are not started: what they would be given."""

    def __init__(self):
        self.given, self.Pipe = [], get_context("spawn").Pipe

    def Process(self, target, args, name):
        self.given.append(args)
        return SimpleNamespace(start=lambda: None, pid=7, exitcode=0, is_alive=lambda: False, join=lambda timeout: None)


def test_the_start_of_a_worker_waits_for_none_that_imports_torch(monkeypatch):
    # what spawn writes to a process must fit into a pipe, or the writer waits until it is read
    assignment = "x" * 3_000_000
    monkeypatch.setattr(local.PackedAssignment, "of", lambda assignment: assignment)
    context = Recording()
    monkeypatch.setattr(local, "SPAWNING", context)
    made = LocalExecutor(assignment, 3)
    made.start()
    files = {name for name, _, _ in context.given}
    assert [index for _, index, _ in context.given] == [0, 1, 2]
    assert all(len(pickle.dumps((name, index))) < 4096 for name, index, _ in context.given)
    (file,) = map(Path, files)
    assert pickle.loads(file.read_bytes()) == assignment and file.stat().st_mode & 0o077 == 0
    made.stop(0.0)
    assert not file.exists()
