"""Which process holds a run, and whether it still lives."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from pathlib import Path

MACHINE_ID = ("/etc/machine-id", "/var/lib/dbus/machine-id")
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def own_name() -> str:
    """The name under which this process claims runs."""
    return name_of(os.getpid())


def name_of(process_id: int) -> str:
    """The name under which a process of this machine, not waited for yet, claims runs: host, place, id, start time.

    The place is a digest of machine, boot and process namespace: machines may share a host name, and containers a
    machine. Where the system does not tell its boot or a process's start (not Linux) a "-" stands.
    """
    return f"{socket.gethostname()}:{_place()}:{process_id}:{_start_of(process_id) or '-'}"


def is_dead(name: str) -> bool:
    """Whether a process of that name is gone, of this boot of this machine; of others nothing is known."""
    parts = name.split(":")
    if len(parts) != 4 or "-" in parts[1:] or parts[:2] != [socket.gethostname(), _place()]:
        return False
    return _start_of(int(parts[2])) != parts[3]


@functools.cache
def _place() -> str:
    """A digest that names this boot of this machine, and the process namespace; "-" where the boot is not known."""
    boot = _first_line(BOOT_ID)
    if not boot:
        return "-"
    machine = next(filter(None, map(_first_line, MACHINE_ID)), "")
    namespace = os.stat("/proc/self/ns/pid").st_ino
    # a digest, since a machine's id is not for others to see
    return hashlib.sha256(f"{machine} {boot} {namespace}".encode()).hexdigest()[:16]


def _start_of(process_id: int) -> str:
    """When a process began, in ticks of the kernel since its boot; "" where there is no such process."""
    # the name of the program, in parentheses, may hold blanks; the 20th field behind it, proc(5)
    fields = _first_line(f"/proc/{process_id}/stat").rpartition(")")[2].split()
    # a zombie has ended and only waits to be noticed
    return fields[19] if fields and fields[0] != "Z" else ""


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
