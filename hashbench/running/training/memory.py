"""Memory of a device: how much there is, and the most that a piece of work takes."""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch

# Of the free memory that a training may fill: trials do not see what fragments it later.
SHARE = 0.9


def free_bytes(device: torch.device) -> int:
    """Bytes of a device that this process has or may still take."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    if device.type == "mps":
        return torch.mps.recommended_max_memory()
    return _free_main_memory()


def peak_bytes_of(work: Callable[[], None], device: torch.device) -> int | None:
    """The most bytes that this process holds on a device while it does the work; None where they are too few.

    On a CPU the whole process is meant, and freed memory that the C library keeps counts.
    """
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        start_of_peak()
    try:
        work()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    if device.type == "mps":
        return torch.mps.driver_allocated_memory()
    return resident_peak()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device has no memory left; of MPS, CPUs and other processes the words alone tell."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, RuntimeError) and any(each in str(error) for each in words)


def release_memory() -> None:
    """Gives back what nobody uses any more, so that another piece of work finds it."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def start_of_peak() -> int:
    """Forgets the peak of this process, where the system can, and gives back the resident bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: sets the peak to the present size
    except OSError:
        pass
    return resident_peak()


def resident_peak() -> int:
    """The largest resident size of this process since the start or the last reset, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage does not know of the reset
        return _kilobytes(status, "VmHWM")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _free_main_memory() -> int:
    """What the system could give, and what this process has."""
    information = Path("/proc/meminfo")
    if information.exists():
        return _kilobytes(information, "MemAvailable") + _kilobytes(Path("/proc/self/status"), "VmRSS")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _kilobytes(file: Path, key: str) -> int:
    """The value in bytes of a line 'key: 123 kB'."""
    line = next(line for line in file.read_text().splitlines() if line.startswith(key))
    return 1024 * int(line.split()[1])
