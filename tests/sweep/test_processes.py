"""Names of processes, and which of them are gone."""

import os
import subprocess
import sys

from hashbench.sweep.processes import is_dead, own_name


def test_a_process_is_dead_from_its_end_on_and_not_before():
    code = "from hashbench.sweep.processes import own_name; print(own_name(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    name = child.stdout.readline().strip()
    assert name.endswith(f":{child.pid}") and name != own_name()
    assert not is_dead(name)
    child.stdin.close()
    child.wait()
    child.stdout.close()
    assert is_dead(name)


def test_of_another_machine_nothing_is_known():
    assert not is_dead(f"elsewhere:0:{2**22 + 1}")
    assert not is_dead(f"{own_name().split(':')[0]}:12345:{os.getpid()}")
    assert not is_dead("w1")
