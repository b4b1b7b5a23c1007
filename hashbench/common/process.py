"""Settings of a process: its memory, its threads, and standard streams that outlive their readers.

glibc gives large blocks back to the system as soon as they are freed, so every step of a training on the CPU pays for
the page faults of all its tensors again: a fifth to a third of the time of a small model. So freed memory is kept.

Where the reader of its output has left, work goes on in silence, as under nohup: `head` has seen enough, a collector of
logs died, a terminal was closed. What would be printed then goes nowhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import io
import os
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from hashbench.common.errors import InputError
from hashbench.common.showing import whole_number

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # parameter numbers of malloc.h
DEFAULT_TRIM, DEFAULT_MMAPS = 128 * 1024, 65_536  # glibc's defaults
LARGEST_TRIM = 2**31 - 1
# How many prepared operations oneDNN keeps, and how many torch's interface to it; oneDNN reads two names
OF_ONEDNN, OF_TORCH = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"), "LRU_CACHE_CAPACITY"
FEW_PREPARED = 128  # in place of 1,024; more than one step has


def keep_freed_memory(keep: bool = True) -> bool:
    """Makes this process keep freed memory for its next allocations, or, with False, restores glibc's defaults.

    For a process that trains; its memory stays at its peak until it ends. Returns whether the C library took it: other
    systems than Linux with glibc have no such setting and are left alone.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    trim, mmaps = (LARGEST_TRIM, 0) if keep else (DEFAULT_TRIM, DEFAULT_MMAPS)
    return bool(mallopt(M_MMAP_MAX, mmaps)) and bool(mallopt(M_TRIM_THRESHOLD, trim))


def keep_few_prepared() -> None:
    """Has oneDNN keep few prepared operations, unless the user chose a number. To be called before torch computes.

    For trainings in bf16 with long steps and batches of many lengths. oneDNN prepares each matrix product for each
    shape and keeps 1,024 of them, in two blocks of 250 KB each. These come to lie between the tensors of a step, so
    that the next, longer batch fits into none of the gaps. To prepare an operation again takes half a millisecond.
    """
    if not any(name in os.environ for name in OF_ONEDNN):
        os.environ[OF_ONEDNN[0]] = str(FEW_PREPARED)
    os.environ.setdefault(OF_TORCH, str(FEW_PREPARED))


def keep_niceness() -> None:
    """Has a process that leads a new session yield to others as its nice value says.

    Linux schedules sessions as groups (sched(7), autogroup): between groups the group's own value counts, which begins
    at 0, so that the workers of `nice hashbench sweep` would not yield. Other systems have no such file.
    """
    if (value := os.nice(0)) > 0:
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
            group.write(str(value))


def main_memory() -> int:
    """Bytes of main memory of this machine, free or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def is_out_of_memory(error: BaseException) -> bool:
    """True for an out-of-memory error of Python or torch. MPS, CPUs and other processes only say so in the message."""
    texts = ("out of memory", "can't allocate memory", "not enough memory")
    of_torch = type(error).__name__ == "OutOfMemoryError" or any(text in str(error) for text in texts)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and of_torch)


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Pauses Python's collection of reference cycles for the block.

    Imported modules and what is read of 20,000 runs stay, so searching them frees nothing.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def one_thread_of_numpy() -> None:
    """Gives the matrix products of numpy one thread, unless the user chose a number. To be called before its import.

    For commands that read results. Their products are many and small, so that a second thread mostly waits, and waiting
    takes its core: a quarter of the CPU time of `report claims`.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


THREADS = "HASHBENCH_THREADS"  # the variable of the environment: threads that compiled code may use
MOST_THREADS = 2**16  # chosen here, far above any machine


def wanted_threads() -> int | None:
    """The number in HASHBENCH_THREADS, None where it is unset or empty. Raises InputError for another text."""
    text = os.environ.get(THREADS, "")
    number = whole_number(text)
    if text and not 1 <= (number or 0) <= MOST_THREADS:
        raise InputError(
            f"{THREADS}: {text[:40]!r} is no whole number from 1 to {MOST_THREADS}; correct it, or unset it"
        )
    return number


STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")


class LastingFile(io.FileIO):
    """The file of a standard stream: where its reader has left, it goes nowhere from then on."""

    def write(self, data: Any) -> int:
        """Writes bytes; waits for a slow reader of a non-blocking stream. Raises OSError, as of full disks."""
        try:
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
            return written
        except OSError as error:
            if not _reader_left(error, self.fileno()):
                raise
            self.without_reader()
            return memoryview(data).nbytes

    def without_reader(self) -> None:
        """Directs it to nowhere."""
        to_nowhere(self.fileno())


class RemarksFile(LastingFile):
    """The file of stderr: what cannot be written there is lost, and no work with it."""

    def write(self, data: Any) -> int:
        """Writes bytes, or drops them."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _reader_left(error: OSError, number: int) -> bool:
    """True for the error of a write to a pipe or a socket without a reader, or to a terminal that was closed."""
    if error.errno == errno.EIO:
        return stat.S_ISCHR(os.fstat(number).st_mode)
    return error.errno in (errno.EPIPE, errno.ECONNRESET)


def to_nowhere(number: int) -> None:
    """Directs a standard stream of this number, and all that write to it, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def fill_numbers() -> None:
    """Opens stdin, stdout and stderr where they are closed, so that no other file gets their numbers."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:  # the lowest that is free
        os.set_inheritable(number, True)
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _over(stream: Any, kind: type[LastingFile], errors: str | None = None) -> Any:
    """A stream like this one over a file of that kind; the same where it was replaced, as in tests and notebooks."""
    buffer: Any = getattr(stream, "buffer", None)  # with PYTHONUNBUFFERED the file itself
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    with contextlib.suppress(OSError):
        stream.flush()
    file = kind(stream.fileno(), "w", closefd=False)
    options = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
    above: Any = file if type(buffer) is io.FileIO else io.BufferedWriter(file)
    return io.TextIOWrapper(above, stream.encoding, errors or stream.errors, **options)


def outlive_readers(stdout: type[LastingFile] = LastingFile, errors: str | None = None) -> None:
    """Lets the standard streams of this process outlive their readers from now on.

    `stdout`: the kind of its file. `errors`: what is done with characters that the encoding lacks; None: as before.
    """
    fill_numbers()
    for name in ("stdout", "stderr"):
        before: TextIO | None = getattr(sys, name)
        lasting = _over(before, stdout if name == "stdout" else RemarksFile, errors)
        if getattr(sys, f"__{name}__") is before:
            setattr(sys, f"__{name}__", lasting)
        setattr(sys, name, lasting)


@contextlib.contextmanager
def outliving_readers() -> Iterator[None]:
    """Lets the standard streams of this process outlive their readers during the block."""
    before = {name: getattr(sys, name) for name in STREAMS}
    outlive_readers()
    try:
        yield
    finally:
        for name, stream in before.items():
            if (lasting := getattr(sys, name)) is not stream:
                lasting.flush()
                setattr(sys, name, stream)
