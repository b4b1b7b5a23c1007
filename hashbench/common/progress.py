"""Signs of progress: a run at work leaves them, and whoever watches it, in any process, sees whether new ones come.

A sign is written to a small file, not to memory that processes share: where a disk is full, writing to a file fails,
and writing to mapped memory ends the process.
"""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from hashbench.common import clock

SPACING_S = 1.0  # at most one sign a second is written; a call of `progress` between two takes half a microsecond
LOOK_EVERY_S = 1.0
# The longest that one look counts for: a machine that sleeps, or a watcher that is stopped, makes nobody silent.
LONGEST_LOOK_S = 2 * LOOK_EVERY_S
BEFORE_FIRST_STEP = 10.0  # times the usual limit: data are prepared, models compiled
RECORD = struct.Struct("<d?120s")  # seconds of the monotonic clock, whether it was a step, what was done


@dataclass(frozen=True)
class Sign:
    """A sign of progress: when it was given, by the monotonic clock, whether it was a step, and in what work."""

    at: float = 0.0
    is_step: bool = False
    doing: str = ""

    @classmethod
    def read(cls, path: Path) -> Sign:
        """The newest sign in a file; an empty one where there is none."""
        try:
            at, is_step, doing = RECORD.unpack(path.read_bytes()[: RECORD.size])
        except (OSError, struct.error):
            return cls()
        return cls(at, is_step, doing.rstrip(b"\0").decode("utf-8", "ignore"))


class _Giver:
    """The end of this process at the file of signs; forks of it share the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.given_at = -SPACING_S
        self.stepped = False
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)

    def give(self, at: float, is_step: bool, doing: str) -> None:
        self.given_at, self.stepped = at, self.stepped or is_step
        text = doing.encode()[:120].ljust(120, b"\0")
        with contextlib.suppress(OSError):
            os.pwrite(self._file, RECORD.pack(at, is_step, text), 0)


_giver: _Giver | None = None


def progress(doing: str = "", *, step: bool = True) -> None:
    """Leaves a sign that the current run goes on; for each round of work that may last, since it costs next to nothing.

    A run without a sign for `hang_minutes` counts as hung and is ended. `doing`: the work in a few words, for the
    message. `step`: False for work before the first round, such as preparing data, when a run may be silent for ten
    times as long. Without a run it does nothing.
    """
    giver = _giver
    if giver is None:
        return
    now = clock.monotonic()
    if now - giver.given_at >= SPACING_S or step > giver.stepped:
        giver.give(now, step, doing)


def give_signs_to(path: Path | None) -> None:
    """Lets this process, and its forks, leave their signs in a file from now on; None: nowhere."""
    global _giver
    _giver = None if path is None else _Giver(path)


def signs_file() -> Path | None:
    """The file in which this process leaves its signs; None: nowhere."""
    return None if _giver is None else _giver.path


def begin_work() -> None:
    """Begins a new piece of work: its first step is still to come."""
    if _giver is not None:
        _giver.stepped = False
        _giver.give(clock.monotonic(), False, "")


class Silence:
    """The silence of one piece of work, by looks at its signs: the seconds without a sign.

    Seconds are counted look by look, so that only time counts in which the watcher could have seen a sign.
    """

    def __init__(self, limit_s: float | None, *, from_start: bool = True) -> None:
        """`limit_s`: of silence; None: no limit. `from_start`: False for work that may never give a sign."""
        self._limit_s, self._watches = limit_s, from_start
        self._stepped = False
        self.newest = Sign()
        self.silent_s = 0.0
        self._looked_at = clock.monotonic()

    def look(self, sign: Sign, *, stopped: bool = False) -> None:
        """Looks at the newest sign; `stopped`: the worker was stopped from outside (SIGSTOP), and is not silent."""
        now = clock.monotonic()
        passed, self._looked_at = min(now - self._looked_at, LONGEST_LOOK_S), now
        if stopped:
            return
        self.silent_s += passed
        if sign == Sign():  # its file was removed, as old files of a temporary folder are: nothing is known
            self.silent_s = 0.0
        elif sign != self.newest:
            self.newest, self.silent_s = sign, 0.0
            self._stepped = self._stepped or sign.is_step
            self._watches = self._watches or sign.is_step

    @property
    def limit_s(self) -> float | None:
        """Seconds of silence after which the work counts as hung; None: never."""
        if self._limit_s is None or not self._watches:
            return None
        return self._limit_s if self._stepped else BEFORE_FIRST_STEP * self._limit_s

    @property
    def is_hung(self) -> bool:
        """True where the work was silent for as long as it may."""
        return self.limit_s is not None and self.silent_s >= self.limit_s
