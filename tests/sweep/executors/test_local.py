"""Workers on this machine: what their parent says to them, and what they see of its end."""

import signal
import subprocess
import sys
import time
from multiprocessing import get_context

from hashbench.sweep.events import RunStarted
from hashbench.sweep.executors.local import ProcessControl

CHILD = """
import multiprocessing, sys, time
from pathlib import Path


def live(left: str) -> None:
    from hashbench.sweep.executors.local import ProcessControl

    context = multiprocessing.get_context("spawn")
    control = ProcessControl(context.Event(), context.Queue())
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
    context = get_context("spawn")
    stop, events = context.Event(), context.Queue()
    control = ProcessControl(stop, events)
    control.tell(RunStarted(0, "r", "a run"))
    assert events.get(timeout=10) == RunStarted(0, "r", "a run")
    assert not control.is_set() and not control.is_abandoned()
    stop.set()
    assert control.is_set()
    alone = ProcessControl(context.Event(), events)
    alone.ask()
    assert alone.is_set()
    events.close()
    control.tell(RunStarted(0, "r", "nobody watches"))
