"""How a sweep is asked to end before it is done."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from types import FrameType

# SIGHUP: the terminal was closed. Where it is ignored (nohup) it stays so.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """The sweep was asked to end by a signal. Its exit code is that of a program that the signal ends."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class TimeIsUp(Exception):
    """The sweep has lasted as long as it may."""


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Turns SIGNALS into `Stopped`; a second one ends the program at once.

    A second SIGHUP does not: both the kernel and a shell send one when a terminal is closed.
    """
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]

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
    """Sends what is still printed nowhere where the terminal is gone: writing to it would be an error."""
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
