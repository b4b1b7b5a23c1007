"""Names of processes, and which of them are gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from hashbench.running.sweep import processes
from hashbench.running.sweep.processes import is_dead, name_of, own_name


def test_a_process_is_dead_from_its_end_on_and_not_before():
    code = "from hashbench.running.sweep.processes import own_name; print(own_name(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    name = child.stdout.readline().strip()
    assert name.split(":")[2] == str(child.pid) and name != own_name()
    assert name_of(child.pid) == name  # whoever started it knows it by the same name
    assert not is_dead(name)
    child.stdin.close()
    child.wait()
    child.stdout.close()
    assert is_dead(name)


def test_a_later_process_with_the_same_id_is_another():
    host, place, process_id, start = own_name().split(":")
    assert not is_dead(own_name())
    assert is_dead(f"{host}:{place}:{process_id}:{int(start) - 1}")


def test_of_another_machine_nothing_is_known():
    gone = 2**22 + 1  # more than any process id
    host, place, _, start = own_name().split(":")
    assert is_dead(f"{host}:{place}:{gone}:{start}")
    assert not is_dead(f"elsewhere:{place}:{gone}:{start}")
    assert not is_dead(f"{host}:{'0' * 16}:{gone}:{start}")  # same host name, another machine or another boot
    assert not is_dead("w1") and not is_dead(f"{socket.gethostname()}:4026531836:{gone}")  # names of earlier versions


def test_where_the_boot_is_not_known_nobody_is_judged(monkeypatch):
    monkeypatch.setattr(processes, "_place", lambda: "-")
    host, _, process_id, start = own_name().split(":")
    assert process_id == str(os.getpid())
    assert not is_dead(own_name()) and not is_dead(f"{host}:-:{2**22 + 1}:{start}")


def test_a_stopped_process_is_known():
    process = subprocess.Popen(["sleep", "1000"])
    assert not processes.is_stopped(process.pid)
    process.send_signal(signal.SIGSTOP)
    until(lambda: processes.is_stopped(process.pid) or not Path("/proc/self").exists())
    process.kill()
    process.wait()


def until(holds):
    """Waits until something holds; a signal takes a moment."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
