"""Opening the database: a file of SQLite or the URL of a PostgreSQL server, one `Store` for both."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, RowMapping
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from hashbench.common.errors import InputError, first_line
from hashbench.common.showing import without_passwords
from hashbench.store import views
from hashbench.store.damage import damage_told
from hashbench.store.drivers import BUSY_S, NOW, postgresql_engine, sqlite_engine
from hashbench.store.file_identity import OpenFile, save_copy
from hashbench.store.heartbeats import HeartbeatMonitor
from hashbench.store.places import check_file, warn_if_on_network
from hashbench.store.schema import READABLE, SCHEMA, alembic_version, metadata
from hashbench.store.unwritable import reading_address, settle

# PostgreSQL advisory lock under which one process makes the tables; any fixed number
MAKING_LOCK = 7_318_652_094


class Store:
    """An open database. Safe for threads; a process opens its own, never one inherited by a fork."""

    def __init__(self, url: URL, name: str, *, read_only: bool = False) -> None:
        self.url = url
        self.name = name
        self.read_only = read_only
        self.schema = SCHEMA  # a store that is only read may have an older one
        self.dialect = "sqlite" if url.get_backend_name() == "sqlite" else "postgresql"
        self.heartbeats = HeartbeatMonitor()
        self.now = sa.literal_column(NOW[self.dialect], sa.Double)
        # of a database that is only read another file may take the place: it is what the reader asks for then
        self._file = OpenFile(Path(url.database or ""), name) if self.dialect == "sqlite" and not read_only else None
        if self.dialect == "sqlite":
            if read_only:
                address, copied = reading_address(Path(url.database or ""))
                if copied is not None:
                    weakref.finalize(self, shutil.rmtree, copied, ignore_errors=True)
                url = url.set(database=address, query={"uri": "true"})
            self._reader = sqlite_engine(url, "BEGIN", self._file)
            self._writer = self._reader if read_only else sqlite_engine(url, "BEGIN IMMEDIATE", self._file)
        else:
            self._reader = self._writer = postgresql_engine(url)
        # The last connection that is closed brings the write-ahead log into the database: a copy of the file is whole.
        self._closed = weakref.finalize(self, _let_go, os.getpid(), self._reader, self._writer)

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write; an exception takes all of it back.

        Raises DatabaseMoved where the path no longer leads to the file that was opened; so does `read`.
        """
        self._check_file()
        with damage_told(self.name), self._writer.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that only reads, from one state of the database."""
        self._check_file()
        with damage_told(self.name), self._reader.begin() as connection:
            yield connection

    def check_current(self) -> None:
        """Raise InputError for a store of an older schema: what reads whole tables knows today's alone."""
        if self.schema != SCHEMA:
            raise InputError(_schema_message(self.name, self.schema))

    def query(self, sql: str, **parameters: str | int | float | None) -> Sequence[RowMapping]:
        """Rows of a SELECT; parameters stand as :name in it."""
        with self.read() as connection:
            return connection.execute(sa.text(sql), parameters).mappings().all()

    def tuples(self, sql: str, **parameters: str | int | float | None) -> Sequence[Sequence[Any]]:
        """The same as tuples in the order of the columns, which many rows take half the time for."""
        with self.read() as connection:
            return connection.execute(sa.text(sql), parameters).all()

    def save_copy(self) -> Path:
        """A copy of a SQLite database whose file is no longer at its path, as the open connections still read it.

        Raises sqlite3.Error where that cannot be.
        """
        # rather the writer's: it has certainly read the write-ahead log, which can no longer be opened
        engine = next((pooled for pooled in (self._writer, self._reader) if pooled.pool.checkedin()), None)  # type: ignore[attr-defined]
        if engine is None:
            raise sqlite3.OperationalError("no connection to it is open")
        connection = engine.raw_connection()
        try:
            return save_copy(cast(sqlite3.Connection, connection.driver_connection), Path(self.url.database or ""))
        finally:
            connection.close()

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def settle(self) -> None:
        """Brings the write-ahead log of a file into the file, so that a copy of it is whole even where a reader, who
        can do no such thing, is the last to close it. Who is at work on it is not waited for."""
        if self.dialect == "sqlite" and not self.read_only:
            settle(Path(self.url.database or ""))

    def insert_new(self, table: sa.Table) -> sa.Insert:
        """An INSERT that leaves out rows whose key is there already."""
        if self.dialect == "sqlite":
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table).on_conflict_do_nothing()
        from sqlalchemy.dialects import postgresql  # all its drivers, which take a while to load

        return postgresql.insert(table).on_conflict_do_nothing()

    def close(self) -> None:
        """Let go of all connections; without it that is done at the end of the program."""
        self._closed()


def _let_go(owner: int, *engines: Engine) -> None:
    """Closes the connections, in the process that opened them alone: a fork must not touch its parent's."""
    if os.getpid() == owner:
        for engine in engines:
            engine.dispose()


def insert_rows(connection: Connection, insert: sa.Insert, rows: Iterable[Mapping[str, Any] | RowMapping]) -> None:
    """Insert any number of rows; of an empty list SQLAlchemy would make a row of defaults."""
    values = [dict(row) for row in rows]
    if values:
        connection.execute(insert, values)


def open_store(where: str | Path, *, create: bool = True, read_only: bool = False) -> Store:
    """The database at a path or URL, made if it is not there yet.

    With `create=False` a missing database is an error; `read_only=True` never changes the file. Raises InputError for
    whatever is not a database of this schema.
    """
    url, name = parse(where)
    create = create and not read_only
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "")
        check_file(path, name, create=create, read_only=read_only)
        warn_if_on_network(path, name)
    store = _connect(url, name, read_only)
    try:
        _make_or_check(store, create=create)
    except OperationalError as error:
        raise InputError(f"{name}: cannot connect: {first_line(error.orig or error)}; check the address") from error
    except DBAPIError as error:
        reason = first_line(error.orig or error)
        raise InputError(f"{name}: not a database that can be read: {reason}; give another --db") from error
    return store


def open_results(where: str | Path) -> Store:
    """A database that is there already, to read from alone. Raises InputError as `open_store`."""
    return open_store(where, create=False, read_only=True)


def parse(where: str | Path) -> tuple[URL, str]:
    """The URL of what a user gave, and how messages call it (a password hidden)."""
    text = str(where)
    if "://" not in text:
        return URL.create("sqlite", database=text), text
    try:
        url = sa.make_url(text)
    except ArgumentError:
        shown = without_passwords(text)
        raise InputError(f"{shown}: not a database address; give a file or postgresql://USER@HOST/NAME") from None
    name = without_passwords(url.render_as_string(hide_password=True))
    if url.get_backend_name() not in NOW:
        raise InputError(f"{name}: unknown database {url.drivername!r}; give a file or postgresql://USER@HOST/NAME")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return url, name if url.get_backend_name() == "postgresql" else (url.database or name)


def schema_of(connection: Connection) -> str | None:
    """The schema of an open database; None where there are no tables of ours."""
    return _schema_among(connection, sa.inspect(connection).get_table_names())


def _schema_among(connection: Connection, tables: Sequence[str]) -> str | None:
    if alembic_version.name not in tables:
        return None
    return connection.execute(sa.select(alembic_version.c.version_num)).scalar()


def _connect(url: URL, name: str, read_only: bool) -> Store:
    try:
        return Store(url, name, read_only=read_only)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise InputError(f"{name}: no driver for it; pip install 'hashbench[postgres]'") from error


def _make_or_check(store: Store, *, create: bool) -> None:
    with store.read() as connection:
        # once: another process may be making them
        tables = sa.inspect(connection).get_table_names()
        schema = _schema_among(connection, tables)
        foreign = schema is None and bool(tables)
        readable = schema == SCHEMA or (store.read_only and schema in READABLE)
        stale = readable and not views.are_current(connection)
    if schema is None:
        if foreign:
            raise InputError(f"{store.name}: a database, but not one of hashbench; give another --db")
        if not create:
            raise InputError(f"{store.name}: an empty database; run hashbench sweep first, or give another --db")
        _make(store)
    elif not readable:
        raise InputError(_schema_message(store.name, schema))
    store.schema = schema or SCHEMA
    if stale and store.read_only:
        _show_temporary_views(store)
    elif stale:
        with store.write() as connection:
            views.create(connection)


def _schema_message(name: str, schema: str) -> str:
    known = f"{name}: schema {_number(schema)}, this program writes {_number(SCHEMA)}"
    if schema > SCHEMA:  # revisions are zero-padded numbers
        return f"{known}; install a newer hashbench (hashbench db upgrade cannot go back)"
    return f"{known}; run: hashbench db upgrade --db {name}"


def _number(schema: str) -> str:
    return schema.lstrip("0") or "0"


def _make(store: Store) -> None:
    """All tables and views in one transaction, by one process of those that find the database empty."""
    if store.dialect == "sqlite":
        _turn_on_wal(store)
    with store.write() as connection:
        if store.dialect == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MAKING_LOCK)))
        if schema_of(connection) is not None:
            return
        metadata.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(alembic_version).values(version_num=SCHEMA))
        views.create(connection)


def _turn_on_wal(store: Store) -> None:
    """Write-ahead log, a property of the file: set once when it is made, so that opening never changes a file."""
    until = time.monotonic() + BUSY_S
    while True:
        connection = store._writer.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # this pragma does not wait for its lock by itself
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        finally:
            connection.close()


def _show_temporary_views(store: Store) -> None:
    """Today's views over a database that must not change: temporary ones, which hide those it has."""

    def make(dbapi_connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
        cursor = dbapi_connection.cursor()
        for statement in views.temporary():
            cursor.execute(statement)
        cursor.close()
        # psycopg has begun a transaction; the driver of SQLite has none here
        dbapi_connection.commit()

    store._reader.dispose()
    sa.event.listen(store._reader, "connect", make)
