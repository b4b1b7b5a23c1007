"""running/training/devices.py: what a device has left and what work takes, on a CPU as it is and on others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hashbench.common.process import is_out_of_memory, main_memory
from hashbench.running.training import devices as memory
from hashbench.running.training.devices import free_bytes, peak_bytes_of, resident_peak

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda", 0), torch.device("mps")
MIB = 1 << 20


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has no /proc, as macOS."""
    monkeypatch.setattr(Path, "exists", lambda self: False)


def test_a_cpu_has_what_the_system_can_give() -> None:
    total = main_memory()
    assert 16 * MIB < free_bytes(CPU) < 2 * total


@pytest.mark.usefixtures("without_proc")
def test_without_proc_all_of_the_memory_counts() -> None:
    assert free_bytes(CPU) == main_memory()


@pytest.mark.usefixtures("without_proc")
@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1), ("linux", 1024)])
def test_without_proc_the_peak_is_the_systems_in_its_unit(
    monkeypatch: pytest.MonkeyPatch, platform: str, unit: int
) -> None:
    """Bytes on macOS, kilobytes elsewhere."""
    usage = memory.resource.getrusage(memory.resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr(memory.sys, "platform", platform)
    assert usage * unit <= resident_peak() < 2 * usage * unit


def test_a_gpu_has_what_is_free_and_what_this_process_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (300, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 50)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 700)
    assert (free_bytes(CUDA), free_bytes(MPS)) == (350, 700)


PEAK_OF_A_FILL = """
from pathlib import Path
import numpy as np, torch
from hashbench.running.training.devices import peak_bytes_of, resident_peak, start_of_peak

def fill():
    np.ones(512 << 20, np.uint8)  # freed when the work is done

before = start_of_peak()
peak = peak_bytes_of(fill, torch.device("cpu"))
after = start_of_peak()
try:
    Path("/proc/self/clear_refs").write_text("5")
except OSError:
    pass
print(before, peak, after, resident_peak() < peak)
"""


def test_the_peak_of_a_cpu_is_that_of_the_work() -> None:
    """In a process of its own: where a system cannot forget a peak, those of other tests would hide this one."""
    done = subprocess.run([sys.executable, "-c", PEAK_OF_A_FILL], capture_output=True, text=True, check=True)
    before, peak, after, forgets = done.stdout.split()
    assert int(peak) >= int(before) + 256 * MIB
    assert forgets == "False" or int(after) < int(peak) - 256 * MIB


def test_the_peak_of_a_gpu_is_what_was_reserved_since_the_start_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *device, name=name: calls.append(name))
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 4096)
    assert peak_bytes_of(lambda: calls.append("work"), CUDA) == 4096
    assert calls == ["empty_cache", "reset_peak_memory_stats", "work"]
    monkeypatch.setattr(torch.mps, "driver_allocated_memory", lambda: 512)
    assert peak_bytes_of(lambda: None, MPS) == 512


@pytest.mark.parametrize(
    ("error", "is_lack"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("shapes do not match"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_work_that_finds_no_memory_has_no_peak_and_other_errors_pass(error: Exception, is_lack: bool) -> None:
    def fail() -> None:
        raise error

    assert is_out_of_memory(error) is is_lack
    if is_lack:
        assert peak_bytes_of(fail, CPU) is None
    else:
        with pytest.raises(type(error)):
            peak_bytes_of(fail, CPU)


def test_memory_is_given_back_before_the_next_work(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(memory.gc, "collect", lambda: calls.append("collect"))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("empty"))
    for available in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        memory.release_memory()
    assert calls == ["collect", "collect", "empty"]
