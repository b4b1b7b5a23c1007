"""Processes of a sweep: their names, which ones are dead, and the signals that end one."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from hashbench.common.process import to_nowhere

MACHINE_ID = ("/etc/machine-id", "/var/lib/dbus/machine-id")
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def own_name() -> str:
    """The name under which this process claims runs."""
    return name_of(os.getpid())


def name_of(process_id: int) -> str:
    """The name under which a live process of this machine claims runs: host, place (a digest), process id, start time.

    The place is a digest of machine, boot and process namespace: machines may share a host name, and containers a
    machine. A "-" is in place of a boot or a start that the system does not give (not Linux).
    """
    return f"{socket.gethostname()}:{_place()}:{process_id}:{_start_of(process_id) or '-'}"


def is_dead(name: str) -> bool:
    """True when the process of that name ran on this machine since its boot and is gone; False if this is unknown."""
    parts = name.split(":")
    if len(parts) != 4 or "-" in parts[1:] or parts[:2] != [socket.gethostname(), _place()]:
        return False
    return _start_of(int(parts[2])) != parts[3]


@functools.cache
def _place() -> str:
    """A digest that names this machine, its present boot and the process namespace; "-" where the boot is not known."""
    boot = _first_line(BOOT_ID)
    if not boot:
        return "-"
    machine = next(filter(None, map(_first_line, MACHINE_ID)), "")
    namespace = os.stat("/proc/self/ns/pid").st_ino
    # a digest, since a machine's id is not for others to see
    return hashlib.sha256(f"{machine} {boot} {namespace}".encode()).hexdigest()[:16]


def _start_of(process_id: int) -> str:
    """The start of a process, in ticks of the kernel since its boot; "" where there is no such process."""
    # the name of the program, in parentheses, may hold blanks; the 20th field behind it, proc(5)
    fields = _first_line(f"/proc/{process_id}/stat").rpartition(")")[2].split()
    # a zombie has ended and only waits to be noticed
    return fields[19] if fields and fields[0] != "Z" else ""


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def is_stopped(process_id: int) -> bool:
    """True where a process was stopped from outside: by SIGSTOP, a terminal or a debugger. Known on Linux alone."""
    return _first_line(f"/proc/{process_id}/stat").rpartition(")")[2][1:2] in ("T", "t")


# SIGHUP: the terminal was closed. Where it is ignored (nohup) it stays so.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What a batch system sends before its time limit, on request. A program that handles them itself, as submitit, does so.
BATCH_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


class Stopped(Exception):
    """A signal requests the end of the sweep; `exit_code` is the code of a program ended by the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class TimeIsUp(Exception):
    """The sweep is to end, done or not; the text says why."""


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Raises `Stopped` for SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2; a second signal ends the program at once.

    A second SIGHUP does not: both the kernel and a shell send one when a terminal is closed. In another thread than
    the main one no signal is heard, as Python has it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    heard += [number for number in BATCH_SIGNALS if signal.getsignal(number) == signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        for signal_number in heard:
            signal.signal(signal_number, signal.SIG_IGN if signal_number == number == signal.SIGHUP else signal.SIG_DFL)
        leave_closed_terminal()
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) != signal.SIG_IGN:  # what is left to do is done in peace
                signal.signal(number, handler)


def leave_closed_terminal() -> None:
    """Discards further output where the terminal is gone, since writing to it would be an error."""
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                to_nowhere(stream)
