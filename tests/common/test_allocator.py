"""Freed memory stays with the process when asked."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys

import pytest

from hashbench.common import allocator

# Page faults of allocating, touching and freeing 40 MB ten times.
FAULTS = """
import resource, sys
import numpy as np
from hashbench.common.allocator import keep_freed_memory
assert keep_freed_memory(sys.argv[1] == "keep")
np.ones(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(5_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    path = ":".join(path for path in ["", *sys.path] if path is not None)
    found = subprocess.run(
        [sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    return int(found.stdout)


@pytest.mark.e2e
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_kept_memory_is_not_faulted_in_again() -> None:
    assert faults("keep") < 0.2 * faults("default")


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert allocator.keep_freed_memory() is False


def test_nothing_is_collected_meanwhile_and_again_afterwards():
    with allocator.collecting_nothing():
        assert not gc.isenabled()
        with allocator.collecting_nothing():  # one within another ends nothing
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), allocator.collecting_nothing():
        raise KeyError
    assert gc.isenabled()
