"""One attempt at a run: its claim, its work under a lease, its log, and its end in the store.

The end reaches the store even if the database is away for a while.

Workers and `hashbench evaluate` make all of their attempts here.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lightning.pytorch.utilities.exceptions import SIGTERMException
from sqlalchemy.exc import SQLAlchemyError

from hashbench.common import clock
from hashbench.common.errors import InputError
from hashbench.common.progress import begin_work
from hashbench.common.showing import without_passwords
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import gives_signs, storable
from hashbench.running.sweep.housekeeping import ResultSpool
from hashbench.running.sweep.local import LOG_LIMIT
from hashbench.running.sweep.progress import Event, Watched
from hashbench.running.training.machine import Interrupted
from hashbench.running.training.module import NotFinite
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, LeaseLost, fail, heartbeat, held_under, new_token, release
from hashbench.store.result import Result, finish
from hashbench.store.retry import Retry, StoreAway, is_outage
from hashbench.store.sqlite import DatabaseLost

LEASE_S = 60.0  # a worker without a sign of life for so long has lost its run


class Control:
    """The connection of a worker to whoever started it: requests to stop, and events. By itself: nobody started it."""

    number = 0  # of the worker

    def is_set(self) -> bool:
        """True when the worker is to stop at its next step."""
        return False

    def wait(self, seconds: float) -> None:
        """Waits so many seconds, or until the worker is to stop."""
        time.sleep(seconds)

    def is_abandoned(self) -> bool:
        """True when the process that started the worker is gone."""
        return False

    def tell(self, event: Event | Watched) -> None:
        """Sends an event to the process that started the worker; without a reader it is lost."""

    def heed(self) -> None:
        """Ends this process where its attempt was ended by who watches it: nothing of it counts any more."""

    def note_log(self, text: str) -> None:
        """Notes the end of the current run's log, should the process be ended from outside."""


class StopSignal:
    """A request to stop the current run: its worker shall stop, or its lease is lost."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._here = threading.Event()

    def set(self) -> None:
        """Requests the end of the current run, but not of the worker."""
        self._here.set()

    def is_set(self) -> bool:
        """True when the run is to stop at its next step."""
        return self._here.is_set() or self._control.is_set()


class Heartbeat:
    """A thread that prolongs the lease of a claimed run while it lasts, and stops the run if the lease is lost."""

    def __init__(
        self, store: Store, held: ClaimedRun, stop: StopSignal, control: Control, log: Callable[[], str] = str
    ) -> None:
        """`log`: the end of the run's log so far."""
        self._store, self._held, self._stop, self._control, self._log = store, held, stop, control, log
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
            self._control.note_log(self._log())
            sent_at = time.monotonic()
            try:
                alive = heartbeat(self._store, self._held)
            except DatabaseLost:
                alive = False
            except (OSError, SQLAlchemyError):  # busy or away: tried again in a second
                continue
            last = sent_at
            if not alive:
                self._stop.set()
                return


@contextlib.contextmanager
def captured_log() -> Iterator[Callable[[], str]]:
    """Captures what a run logs and prints; yields a function that returns the end of it."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield lambda: without_passwords(text.getvalue())[-LOG_LIMIT:]
    finally:
        root.removeHandler(handler)


@dataclass(frozen=True)
class Ending:
    """The end of an attempt: its state, and its result or the reason why there is none."""

    state: str  # done, failed, interrupted or lost
    note: str = ""  # why it is not done
    result: Result | None = None  # of one that is done
    error: BaseException | None = None  # what ended one that is not


def claimed(retry: Retry, store: Store, claim: Callable[[str], ClaimedRun | None]) -> ClaimedRun | None:
    """The run that `claim` takes under a token, or None; `claim` is called until the database answers."""
    token, before = new_token(), False

    def once() -> ClaimedRun | None:
        nonlocal before
        # an answer that got lost may have been yes
        held = held_under(store, token) if before else None
        before = True
        return held or claim(token)

    return retry(once)


class Attempts:
    """Carries out the attempts of one process, one after the other or one within another."""

    def __init__(
        self,
        store: Store,
        retry: Retry,
        control: Control,
        artifacts: ArtifactFolder,
        *,
        max_attempts: int = 1,
    ) -> None:
        self._store, self._retry, self._control = store, retry, control
        self._artifacts, self._spool = artifacts, ResultSpool(artifacts)
        self._max_attempts = max_attempts
        self._in_flight: list[tuple[ClaimedRun, float]] = []  # with the time of the begin, each within the one before

    def carry_out(self, held: ClaimedRun, work: Callable[[StopSignal], Result]) -> Ending:
        """Does the work under the lease and stores how it ended.

        Raises StoreAway and DatabaseLost where it cannot be stored.
        """
        stop = StopSignal(self._control)
        self._in_flight.append((held, clock.monotonic()))
        self.watched()
        try:
            with captured_log() as log, Heartbeat(self._store, held, stop, self._control, log):
                return self._ended(held, lambda: self._heeded(work, stop), log)
        finally:
            self._in_flight.pop()
            self.watched()

    def _heeded(self, work: Callable[[StopSignal], Result], stop: StopSignal) -> Result:
        try:
            return work(stop)
        finally:
            self._control.heed()

    def watched(self) -> None:
        """Sends whoever watches this process its attempts in flight; the time of the last one counts from now."""
        begin_work()
        attempts = tuple((held.attempt_id, held.token, began) for held, began in self._in_flight)
        of_last = gives_signs(self._in_flight[-1][0].kind) if attempts else False
        self._control.tell(Watched(self._control.number, attempts, of_last))

    def _ended(self, held: ClaimedRun, work: Callable[[], Result], log: Callable[[], str]) -> Ending:
        folder = self._artifacts.running(held.run_id)
        try:
            result = storable(work())
            self._hand_in(held, replace(result, log=log()))
            # Not before: a checkpoint is worth keeping until then.
            self._artifacts.remove(folder)
        except (Interrupted, SIGTERMException, KeyboardInterrupt) as error:
            self._retry(release, self._store, held, log=log())
            return Ending("interrupted", error=error)
        except LeaseLost as error:
            return Ending("lost", "another worker took the run over", error=error)
        except (StoreAway, DatabaseLost):
            raise
        except InputError as error:
            return self._failed(held, error, str(error), log())
        except NotFinite as error:
            # a checkpoint may hold what is lost already
            self._artifacts.remove(folder)
            return self._failed(held, error, str(error), log(), for_good=True)
        except Exception as error:  # whatever a run throws ends this attempt and not the worker
            reason = f"{type(error).__name__}: {error}"
            whole = without_passwords(f"{log()}\n{traceback.format_exc()}")
            return self._failed(held, error, reason, whole[-LOG_LIMIT:])
        return Ending("done", result=result)

    def _failed(
        self, held: ClaimedRun, error: BaseException, reason: str, log: str, *, for_good: bool = False
    ) -> Ending:
        """Stores a failure; `for_good`: another try would end in the same way, so this one uses up all tries."""
        tries, reason = self._max_attempts if for_good else 1, without_passwords(reason)
        self._retry(fail, self._store, held, reason, log, tries=tries)
        return Ending("failed", reason, error=error)

    def _hand_in(self, held: ClaimedRun, result: Result) -> None:
        """Stores a result; while the database is away, it is kept on disk for any process that reaches it again."""
        held = held.stopped()  # a database that keeps it waiting takes no time of the run
        result = result if result.seconds is not None else replace(result, seconds=held.lasted(None))
        try:
            finish(self._store, held, result)
        except Exception as error:
            if not (is_outage(error) or isinstance(error, DatabaseLost)):
                raise
            with contextlib.suppress(OSError):  # a disk that is full holds neither: this process remembers it
                self._spool.keep(held, result)
            self._retry(finish, self._store, held, result)
            self._spool.drop(held.token)
