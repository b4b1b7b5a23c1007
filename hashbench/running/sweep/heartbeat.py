"""What surrounds an attempt: the lease that is prolonged while it lasts, the wishes to end it, and its log."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from sqlalchemy.exc import SQLAlchemyError

from hashbench.running.sweep.executors.base import Control
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, heartbeat
from hashbench.store.sqlite import DatabaseMoved

LEASE_S = 60.0  # a worker without a sign of life for so long has lost its run
LOG_LIMIT = 64_000  # characters of a run's log that are kept, from its end


class StopSignal:
    """Says that the run in hand must end: the worker was asked to stop, the lease is lost, or its time is up."""

    def __init__(self, control: Control, hours: float | None = None) -> None:
        """`hours`: the longest that an attempt may last; None: any time."""
        self._control = control
        self._here = threading.Event()
        self._hours = hours
        self.began_again()

    def began_again(self) -> None:
        """Lets the time of the attempt count from now on."""
        self._until = None if self._hours is None else time.monotonic() + 3600.0 * self._hours

    def set(self) -> None:
        """Ends the run in hand only."""
        self._here.set()

    def is_set(self) -> bool:
        """Whether to stop at the next step."""
        return self._here.is_set() or self._control.is_set() or self.is_time_up

    @property
    def is_time_up(self) -> bool:
        """Whether the attempt has lasted as long as it may."""
        return self._until is not None and time.monotonic() >= self._until


class Heartbeat:
    """Prolongs a lease while the run lasts, on a thread of its own."""

    def __init__(self, store: Store, held: ClaimedRun, stop: StopSignal, control: Control) -> None:
        self._store, self._held, self._stop, self._control = store, held, stop, control
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._done.wait(1.0):
            if self._control.is_abandoned():
                # Nobody is left to report to; the lease runs out or the next sweep sees the dead process.
                os._exit(1)
            if time.monotonic() - last < LEASE_S / 4:
                continue
            sent_at = time.monotonic()
            try:
                alive = heartbeat(self._store, self._held)
            except DatabaseMoved:
                alive = False
            except (OSError, SQLAlchemyError):  # busy or away: asked again in a second
                continue
            last = sent_at
            if not alive:
                self._stop.set()
                return


@contextlib.contextmanager
def captured_log() -> Iterator[Callable[[], str]]:
    """Keeps what a run logs and prints; the function given back returns its end."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield lambda: text.getvalue()[-LOG_LIMIT:]
    finally:
        root.removeHandler(handler)
