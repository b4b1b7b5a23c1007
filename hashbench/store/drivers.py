"""How each of the two databases is connected to.

SQLite has two engines. Writers begin with BEGIN IMMEDIATE: they queue for the one write lock at once, where a deferred
transaction would fail with "database is locked" when it turns from reading to writing. Readers begin plainly: a reader
that says IMMEDIATE blocks every writer.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from hashbench.store.file_identity import OpenFile
from hashbench.store.places import space_message

BUSY_S = 30.0  # how long a writer waits for another's transaction; those last milliseconds
# of libpq, in seconds but for the last, which counts milliseconds
NETWORK_LIMITS = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,
}

NOW: dict[str, str] = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",  # unixepoch('subsec') needs 3.42
    # clock_timestamp, since now() stands still within a transaction that waited for a lock
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)",
}


def postgresql_engine(url: URL) -> Engine:
    """An engine that notices within a minute when nobody answers any more: a network that is down says nothing."""
    limits = {key: value for key, value in NETWORK_LIMITS.items() if key not in url.query}
    return sa.create_engine(url, pool_pre_ping=True, connect_args=limits)


def sqlite_engine(url: URL, begin: Literal["BEGIN", "BEGIN IMMEDIATE"], file: OpenFile | None) -> Engine:
    """An engine of a file that is written, or, without `file`, of an address that is only read."""
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_S})

    @sa.event.listens_for(engine, "connect")
    def prepare(dbapi_connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
        # The driver's own transactions begin too late and leave DDL outside; ours begin by the event below.
        dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        # with WAL: a killed process loses nothing, only a power cut may
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()
        if file is not None:
            file.opened()

    @sa.event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    @sa.event.listens_for(engine, "handle_error")
    def say_where(context: sa.engine.ExceptionContext) -> None:
        error = context.original_exception
        if file is not None and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            error.args = (space_message(file.path),)

    return engine
