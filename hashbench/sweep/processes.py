"""Which process holds a run, and whether it still lives."""

from __future__ import annotations

import os
import socket


def own_name() -> str:
    """The name under which this process claims runs: machine, process namespace, process id."""
    return f"{_place()}:{os.getpid()}"


def is_dead(name: str) -> bool:
    """Whether a process of this machine of that name is gone; of another machine or container nothing is known."""
    place, _, process_id = name.rpartition(":")
    if place != _place() or not process_id.isdigit():
        return False
    try:
        os.kill(int(process_id), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _place() -> str:
    """Host and process namespace: containers may share a host name, and then the same id is another process."""
    try:
        namespace = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:  # not Linux: one namespace
        namespace = "0"
    return f"{socket.gethostname()}:{namespace}"
