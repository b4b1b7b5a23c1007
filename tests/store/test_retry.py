"""What is waited for, how long, and what is said meanwhile."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.store.engine import open_store
from hashbench.store.retry import Retry, StoreAway, is_outage, reason_of


def outage(text: str = "connection refused\nIs the server running?") -> sa.exc.OperationalError:
    return sa.exc.OperationalError("SELECT 1", {}, Exception(text))


class Clock:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.05)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("hashbench.store.retry.time", made)
    return made


def fails_until(clock: Clock, back_at: float) -> Callable[[], str]:
    def call() -> str:
        if clock.now < back_at:
            raise outage()
        return "answer"

    return call


def test_an_outage_is_outlasted_with_one_line_a_minute(clock: Clock) -> None:
    lines: list[str] = []
    retry = Retry("pg", 900.0, tell=lines.append)
    # A wait lasts up to 10 s, so that a line comes up to 70 s after the last: the third at 210 s at the latest
    assert retry(fails_until(clock, 215.0)) == "answer"
    assert 215.0 <= clock.now < 226.0
    assert lines[0] == "pg: away now (connection refused); waiting for it up to 15 min"
    assert [line.split(" (")[0] for line in lines[1:-1]] == [f"pg: away for {n} min" for n in (1, 2, 3)]
    assert lines[-1].startswith("pg: answers again after 2")


def test_the_limit_counts_from_the_last_answer_on(clock: Clock) -> None:
    retry = Retry("pg", 60.0, tell=lambda _: None)
    assert retry(fails_until(clock, 40.0)) == "answer"
    assert retry(fails_until(clock, 80.0)) == "answer"
    with pytest.raises(StoreAway, match=r"pg: did not answer for 1 min: connection refused; the same command goes on"):
        retry(fails_until(clock, 1000.0))
    assert clock.now < 170.0
    assert issubclass(StoreAway, InputError)


def test_a_look_does_not_wait_and_ends_at_the_limit(clock: Clock) -> None:
    lines: list[str] = []
    retry = Retry("pg", 60.0, tell=lines.append)
    assert retry.once(fails_until(clock, 50.0)) is None
    assert clock.now == 0.0
    clock.sleep(50.0)
    assert retry.once(fails_until(clock, 50.0)) == "answer"
    assert len(lines) == 2
    assert retry.once(fails_until(clock, 200.0)) is None
    clock.sleep(61.0)
    with pytest.raises(StoreAway):
        retry.once(fails_until(clock, 200.0))


def test_a_wish_to_stop_ends_the_waiting(clock: Clock) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoreAway):
        Retry("pg", 900.0, tell=lambda _: None, stop=stop)(fails_until(clock, 100.0))
    assert clock.now == 0.0


@pytest.mark.parametrize("error", [ValueError("x"), InputError("x"), sa.exc.IntegrityError("INSERT", {}, Exception())])
def test_what_is_no_outage_is_raised_at_once(clock: Clock, error: Exception) -> None:
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        raise error

    for way in (Retry("pg", 900.0, tell=print), Retry("pg", 900.0, tell=print).once):
        with pytest.raises(type(error)) as raised:
            way(call)
        assert raised.value is error
    assert len(calls) == 2


def sqlite_error(code: int) -> sa.exc.OperationalError:
    original = sqlite3.OperationalError("some words")
    original.sqlite_errorcode = code
    return sa.exc.OperationalError("SELECT 1", {}, original)


def test_of_sqlite_only_what_time_may_heal_is_an_outage() -> None:
    passing = [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE]
    assert all(is_outage(sqlite_error(code)) for code in passing)
    assert not any(is_outage(sqlite_error(code)) for code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY))
    assert not is_outage(sqlite_error(sqlite3.SQLITE_CORRUPT))


def test_an_address_that_cannot_be_opened_is_away_for_its_cause() -> None:
    opening = InputError("pg: cannot connect: connection refused; check the address")
    assert not is_outage(opening)
    opening.__cause__ = outage()
    assert is_outage(opening)
    assert reason_of(opening) == "connection refused"


def test_a_full_disk_says_where_space_is_missing_and_is_waited_for(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db")
    with pytest.raises(sa.exc.OperationalError) as raised, store.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # not one page more than there are
        connection.exec_driver_sql("INSERT INTO setting VALUES ('long', hex(zeroblob(1000000)))")
    assert is_outage(raised.value)
    assert reason_of(raised.value).startswith(f"no space left in {tmp_path} (")
    store.close()
