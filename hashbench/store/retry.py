"""Waiting for a database that is away: a server that restarts, a network that is down, a disk that is full."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from hashbench.common.errors import InputError, first_line
from hashbench.common.progress import progress

P = ParamSpec("P")
T = TypeVar("T")

WAIT_S = 900.0  # that a sweep waits for a database that does not answer
SPEAK_EVERY_S = 60.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
# Primary codes of SQLite that time may heal: busy, locked, I/O error, disk full, cannot open, locking protocol
PASSING = {5, 6, 10, 13, 14, 15}
# SQLSTATEs besides the operational errors: a standby that is not yet the primary, a session that waited too long
PASSING_STATES = {"25006", "25P03"}


class StoreAway(InputError):
    """Raised where a database stays away until the limit of waiting for it, or until a request to stop."""


class StopRequest(Protocol):
    """A request to stop: an event of threads or of processes, or whatever acts like one."""

    def is_set(self) -> bool:
        """True once a stop is requested."""
        ...

    def wait(self, seconds: float, /) -> object:
        """Waits for some seconds, or until a stop is requested."""
        ...


def is_outage(error: BaseException) -> bool:
    """True for an error that time may heal: the database is away, full or busy, and the statement is not wrong."""
    if isinstance(error, InputError):  # of opening it
        return error.__cause__ is not None and is_outage(error.__cause__)
    if isinstance(error, TimeoutError):  # of the pool of connections
        return True
    if not isinstance(error, DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):  # without a code: of Python's module, as about a text that is not UTF-8
        return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in PASSING
    if error.connection_invalidated or getattr(error.orig, "sqlstate", None) in PASSING_STATES:
        return True
    return isinstance(error, OperationalError | InterfaceError)


def reason_of(error: BaseException) -> str:
    """Why a database is away, in a few words."""
    cause = error.__cause__ if isinstance(error, InputError) and error.__cause__ is not None else error
    driver = cause.orig if isinstance(cause, DBAPIError) and cause.orig is not None else cause
    return first_line(driver)


class Retry:
    """Calls the store again, with back-off, while its database is away; for a limited time since it last answered."""

    def __init__(
        self, name: str, limit_s: float = WAIT_S, *, tell: Callable[[str], None], stop: StopRequest | None = None
    ) -> None:
        """`name`: of the database, for messages. `tell` gets one line a minute. `stop` ends the waiting early."""
        self._name, self._limit_s, self._tell, self._stop = name, limit_s, tell, stop
        self._away_since: float | None = None
        self._spoke_at = 0.0

    def __call__(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The return value of the call, which may be carried out twice where its answer got lost.

        Raises StoreAway at the limit or at the request to stop, and any error that is no outage at once.
        """
        again = Retrying(
            retry=retry_if_exception(is_outage),
            wait=wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S, min=FIRST_WAIT_S / 2),
            after=self._after,
            stop=lambda _: self._is_over(),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            result = again(call, *args, **kwargs)
        except Exception as error:
            self._give_up(error)
            raise
        self._answered()
        return result

    def once(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """The return value of the call, without waiting; None while the database is away, StoreAway at the limit."""
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            if is_outage(error):
                self._note(error)
                if not self._is_over():
                    return None
            self._give_up(error)
            raise
        self._answered()
        return result

    def _after(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if error is not None:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        """Remembers since when the database is away, and passes a message on it to `tell` once a minute."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since, self._spoke_at = now, now - SPEAK_EVERY_S
        if now - self._spoke_at >= SPEAK_EVERY_S:
            self._spoke_at = now
            waited = f"for {(now - self._away_since) / 60:.0f} min" if now > self._away_since else "now"
            limit = f"waiting for it up to {self._limit_s / 60:g} min"
            self._tell(f"{self._name}: away {waited} ({reason_of(error)}); {limit}")

    def _answered(self) -> None:
        if self._away_since is not None:
            self._tell(f"{self._name}: answers again after {time.monotonic() - self._away_since:.0f} s")
        self._away_since = None

    def _is_over(self) -> bool:
        waited = 0.0 if self._away_since is None else time.monotonic() - self._away_since
        return waited >= self._limit_s or (self._stop is not None and self._stop.is_set())

    def _sleep(self, seconds: float) -> None:
        progress("waiting for the database", step=False)
        if self._stop is None:
            time.sleep(seconds)
        else:
            self._stop.wait(seconds)

    def _give_up(self, error: Exception) -> None:
        """Raises StoreAway from an error that is an outage; does nothing for any other."""
        if is_outage(error):
            waited = 0.0 if self._away_since is None else time.monotonic() - self._away_since
            what = f"{self._name}: did not answer for {waited / 60:.0f} min: {reason_of(error)}"
            raise StoreAway(f"{what}; the same command goes on when it is back") from error
