"""Names of processes, and which of them are gone."""

import os
import subprocess
import sys

from hashbench.sweep.processes import is_dead, own_name


def test_this_process_lives():
    assert not is_dead(own_name())


def test_a_process_that_ended_is_dead():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    place = own_name().rpartition(":")[0]
    assert is_dead(f"{place}:{process.pid}")


def test_of_another_machine_nothing_is_known():
    assert not is_dead(f"elsewhere:0:{2**22 + 1}")
    assert not is_dead(f"{own_name().split(':')[0]}:12345:{os.getpid()}")
    assert not is_dead("w1")
