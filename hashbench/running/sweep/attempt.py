"""One attempt at a run: its claim, its work under a lease, its log, and its end in the store.

The end reaches the store even if the database is away for a while.

Sweeps, workers that join them and `hashbench evaluate` make all of their attempts here.
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

from hashbench.common.errors import InputError
from hashbench.common.progress import Sign, Silence
from hashbench.common.showing import without_passwords
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import gives_signs
from hashbench.running.runs.outputs import storable
from hashbench.running.sweep.executors.base import Control
from hashbench.running.sweep.guard import GRACE_S, LOG_LIMIT, SIGNS, TOO_LONG, Guard, Guarded, guard_of_process
from hashbench.running.sweep.housekeeping import ResultSpool
from hashbench.running.training.curves import NotFinite
from hashbench.running.training.machine import Interrupted
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, LeaseLost, fail, heartbeat, held_under, new_token, release
from hashbench.store.result import Result, finish
from hashbench.store.retry import Retry, StoreAway, is_outage
from hashbench.store.sqlite import DatabaseLost

LEASE_S = 60.0  # a worker without a sign of life for so long has lost its run


class StopSignal:
    """A request to stop the current run: its worker shall stop, its lease is lost, or its time is up."""

    def __init__(self, control: Control, hours: float | None = None, guard: Guard | None = None) -> None:
        """`hours`: the longest that an attempt may last; None: no limit. `guard`: it counts the time as well."""
        self._control, self._guard = control, guard
        self._here = threading.Event()
        self._hours = hours
        self.began_again()

    def began_again(self) -> None:
        """Restarts the time limit of the attempt from now."""
        self._until = None if self._hours is None else time.monotonic() + 3600.0 * self._hours
        if self._guard is not None:
            self._guard.again()

    def set(self) -> None:
        """Requests the end of the current run, but not of the worker."""
        self._here.set()

    def is_set(self) -> bool:
        """True when the run is to stop at its next step."""
        return self._here.is_set() or self._control.is_set() or self.is_time_up

    @property
    def is_time_up(self) -> bool:
        """True when the attempt has lasted as long as it may."""
        return self._until is not None and time.monotonic() >= self._until


class Heartbeat:
    """A thread that prolongs the lease of a claimed run while it lasts, and stops the run if the lease is lost.

    The lease of a run that hangs is not prolonged.
    """

    def __init__(
        self,
        store: Store,
        held: ClaimedRun,
        stop: StopSignal,
        control: Control,
        *,
        guard: Guard | None = None,
        watch: Silence | None = None,
        log: Callable[[], str] = str,
    ) -> None:
        """`log`: the end of the run's log so far."""
        self._store, self._held, self._stop, self._control = store, held, stop, control
        self._guard, self._watch, self._log = guard, watch, log
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
            if self._is_hung() or time.monotonic() - last < LEASE_S / 4:
                continue
            if self._guard is not None:
                self._guard.note_log(self._log())
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

    def _is_hung(self) -> bool:
        """True where the run gave no sign of progress for too long; its guard is about to end this process."""
        if self._guard is None or self._watch is None or self._guard.folder is None:
            return False
        self._watch.look(Sign.read(self._guard.folder / SIGNS))
        return self._watch.is_hung


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
        run_hours: float | None = None,
        hang_s: float | None = None,
        speaks: bool = False,
    ) -> None:
        """`run_hours`: the longest that an attempt may last, `hang_s`: that it may give no sign; None: no limit.

        `speaks`: whether a line is printed where this process is ended, since no other process would notice.
        """
        self._store, self._retry, self._control = store, retry, control
        self._artifacts, self._spool = artifacts, ResultSpool(artifacts)
        self._max_attempts, self._run_hours, self._hang_s = max_attempts, run_hours, hang_s
        self._guard = None if hang_s is None and run_hours is None else guard_of_process()
        self._speaks = speaks

    def carry_out(self, held: ClaimedRun, work: Callable[[StopSignal], Result]) -> Ending:
        """Does the work under the lease and stores how it ended.

        Raises StoreAway and DatabaseLost where it cannot be stored.
        """
        stop = StopSignal(self._control, self._run_hours, self._guard)
        watch = Silence(self._hang_s, from_start=gives_signs(held.kind))
        with captured_log() as log, self._guarded(held):
            with Heartbeat(self._store, held, stop, self._control, guard=self._guard, watch=watch, log=log):
                return self._ended(held, work, stop, log)

    @contextlib.contextmanager
    def _guarded(self, held: ClaimedRun) -> Iterator[None]:
        """Has the guard of this process watch an attempt."""
        if self._guard is None:
            yield
            return
        attempt = Guarded(
            db=self._store.address,
            attempt_id=held.attempt_id,
            token=held.token,
            run_id=held.run_id,
            hang_s=self._hang_s,
            from_start=gives_signs(held.kind),
            run_hours=self._run_hours,
            grace_s=GRACE_S,
            max_attempts=self._max_attempts,
            speaks=self._speaks,
            **({} if held.watch is None else {"began": held.watch.began}),
        )
        self._guard.begin(attempt)
        try:
            yield
        finally:
            self._guard.end()

    def _ended(
        self, held: ClaimedRun, work: Callable[[StopSignal], Result], stop: StopSignal, log: Callable[[], str]
    ) -> Ending:
        folder = self._artifacts.running(held.run_id)
        try:
            result = storable(work(stop))
            self._hand_in(held, replace(result, log=log()))
            # Not before: a checkpoint is worth keeping until then.
            self._artifacts.remove(folder)
        except (Interrupted, SIGTERMException, KeyboardInterrupt) as error:
            if stop.is_time_up:
                reason = f"{TOO_LONG}{self._run_hours:g}"
                return self._failed(held, error, reason, log(), for_good=True)
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
