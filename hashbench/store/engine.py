"""Opening the database: a file of SQLite or the URL of a PostgreSQL server, one `Store` for both."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, RowMapping
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from hashbench.common.errors import InputError, first_line
from hashbench.common.extras import explained
from hashbench.common.shipped import EXAMPLE, example_database, example_here
from hashbench.common.showing import argument_shown, keep_secrets, without_passwords
from hashbench.store import malformed, sqlite, views
from hashbench.store.schema import (
    BEFORE_FIRST,
    FIRST_SCHEMA,
    SCHEMA,
    alembic_version,
    dialect_insert,
    metadata,
    setting,
)

T = TypeVar("T")

# PostgreSQL advisory lock under which one process makes the tables; any fixed number
MAKING_LOCK = 7_318_652_094
IMMUTABLE = "immutable"  # key in the URL of a file that nobody writes
FROM_ENVIRONMENT = "env:"  # begins the name of a variable that holds the address
# libpq's limits by which a client notices within a minute that a network is down; seconds, the last one milliseconds
NETWORK_LIMITS = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,
}
# the database's clock in seconds since 1970
NOW = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",  # unixepoch('subsec') needs SQLite 3.42
    # now() is the begin of the transaction, which may have waited for a lock since
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)",
}


FEW_EXPERIMENTS = 3
ONE_RUN = {"run", "attempt", "id"}  # parameters of queries of one run, whose rows show an error where they are wrong
# Open databases of this process, which `checking.fault_behind` goes through after an error
OPEN: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """An open database. Safe for threads; a process opens its own, never one inherited by a fork."""

    def __init__(self, url: URL, name: str, *, read_only: bool = False) -> None:
        self.url = url
        self.name = name
        self.read_only = read_only
        self.dialect = "sqlite" if url.get_backend_name() == "sqlite" else "postgresql"
        self.heartbeats = sqlite.HeartbeatMonitor()
        self.now = sa.literal_column(NOW[self.dialect], sa.Double)
        self.path = Path(url.database or "")  # of SQLite's file
        # Why stored outputs could not be read, by the run's id: readers do without these, and notes name them
        self.unreadable: dict[str, str] = {}
        self._looked_at: set[tuple[str, int | None]] = set()  # (table, experiment) whose numbers were checked
        OPEN.add(self)
        # a reader does not mind if another file replaces the one it reads
        self._file = sqlite.OpenFile(self.path, name) if self.dialect == "sqlite" and not read_only else None
        if self.dialect == "postgresql":
            limits = {key: value for key, value in NETWORK_LIMITS.items() if key not in url.query}
            self._reader = self._writer = sa.create_engine(url, pool_pre_ping=True, connect_args=limits)
        elif read_only:
            address, copied = sqlite.reading_address(self.path, immutable=IMMUTABLE in url.query)
            if copied is not None:
                weakref.finalize(self, shutil.rmtree, copied, ignore_errors=True)
            url = url.set(database=address, query={"uri": "true"})
            self._reader = self._writer = sqlite.sqlite_engine(url, "BEGIN", self._file)
        else:
            self._reader = sqlite.sqlite_engine(url, "BEGIN", self._file)
            self._writer = sqlite.sqlite_engine(url, "BEGIN IMMEDIATE", self._file)
        # SQLite brings its write-ahead log into the file when the last connection closes: a copy of the file is whole
        self._closed = weakref.finalize(self, _close_all, os.getpid(), self._reader, self._writer)

    @property
    def address(self) -> str:
        """The path or URL by which another process opens the database, with its password: never shown or stored."""
        if self.dialect == "sqlite":
            return str(self.path.absolute())
        return self.url.render_as_string(hide_password=False)

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write; an exception rolls all of it back.

        Raises DatabaseMoved where the path no longer leads to the file that was opened; so does `read`.
        """
        self._check_file()
        with sqlite.damage_as_input_error(self.name), self._writer.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that only reads, from one state of the database."""
        self._check_file()
        with sqlite.damage_as_input_error(self.name), self._reader.begin() as connection:
            yield connection

    def query(self, sql: str, **parameters: str | int | float | None) -> Sequence[RowMapping]:
        """Rows of a SELECT, in which parameters are written as :name.

        Raises InputError where a table that it reads holds what is no number in a column of numbers, in a database that
        is only read; so does `tuples`.
        """
        with self.read() as connection:
            self._check_numbers(connection, sql, parameters)
            return connection.execute(sa.text(sql), parameters).mappings().all()

    def readable(self, run_id: str, read: Callable[[RowMapping], T], row: RowMapping) -> T | None:
        """Stored outputs of a run, as `read` returns them; None where it raises ValueError, which is remembered.

        Whoever reads them loses one interval or paired test, and not the report.
        """
        try:
            return read(row)
        except ValueError as error:
            self.unreadable.setdefault(run_id, str(error))
            return None

    def tuples(self, sql: str, **parameters: str | int | float | None) -> Sequence[Sequence[Any]]:
        """Rows of a SELECT as tuples in the order of its columns, in half the time of `query`."""
        with self.read() as connection:
            self._check_numbers(connection, sql, parameters)
            return connection.execute(sa.text(sql), parameters).all()

    def _check_numbers(self, connection: Connection, sql: str, parameters: Mapping[str, object]) -> None:
        """Looks at the columns of numbers of each table before it is first read, of the experiment that is read."""
        if not self.read_only or ONE_RUN & parameters.keys():
            return
        for table in malformed.tables_in(sql):
            of = cast("int | None", parameters.get("experiment"))
            seen = {experiment for name, experiment in self._looked_at if name == table}
            if seen & {None, of}:
                continue
            of = of if len(seen) < FEW_EXPERIMENTS else None  # of many, all rows at once
            self._looked_at.add((table, of))
            malformed.check_numbers(connection, self.name, table, of)

    def save_copy(self) -> Path:
        """Saves a SQLite database whose file left its path, as open connections still read it; returns the copy's path.

        Raises sqlite3.Error where that cannot be.
        """
        # The writer's first: it has certainly opened the write-ahead log, which nobody can open any more.
        engine = next((pooled for pooled in (self._writer, self._reader) if pooled.pool.checkedin()), None)  # type: ignore[attr-defined]
        if engine is None:
            raise sqlite3.OperationalError("no connection to it is open")
        connection = engine.raw_connection()
        try:
            return sqlite.save_copy(cast(sqlite3.Connection, connection.driver_connection), self.path)
        finally:
            connection.close()

    def copy_first(self) -> Path | None:
        """Saves a copy before something is changed; returns its path, None where there is nothing, or a server has it.

        Raises InputError where it cannot be written, so that nothing is changed.
        """
        if self.dialect != "sqlite" or not self.query("SELECT 1 FROM run LIMIT 1"):
            return None
        try:
            return self.save_copy()
        except sqlite3.Error as error:
            raise InputError(f"{self.name}: no copy of it could be written, so nothing was changed: {error}") from error

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def settle(self) -> None:
        """Brings the write-ahead log of a SQLite file into the file, so that a copy of it is whole.

        Closing does so too, unless a reader, which cannot write the file, is the last to close it. Does not wait for
        other processes that use the file.
        """
        if self.dialect == "sqlite" and not self.read_only:
            sqlite.settle(self.path)

    def insert_new(self, table: sa.Table) -> sa.Insert:
        """An INSERT that leaves out rows whose key is there already."""
        new: sa.Insert = dialect_insert(self.dialect, table).on_conflict_do_nothing()
        return new

    def close(self) -> None:
        """Closes all connections; without this call the end of the program does."""
        self._closed()


def _close_all(owner: int, *engines: Engine) -> None:
    """Closes all connections, unless this process is a fork of the one that opened them."""
    if os.getpid() == owner:
        for engine in engines:
            engine.dispose()


def open_store(where: str | Path, *, create: bool = True, read_only: bool = False) -> Store:
    """The database at a path or URL, made if it is not there yet.

    With `create=False` a missing database is an error; `read_only=True` never changes the file. Raises InputError for
    whatever is not a database of this schema.
    """
    create = create and not read_only
    url, name = check_place(where, create=create, read_only=read_only)
    if url.get_backend_name() == "sqlite":
        sqlite.warn_if_on_network(Path(url.database or ""), name)
    store = _connect(url, name, read_only)
    try:
        _make_or_check(store, create=create)
    except OperationalError as error:
        raise InputError(f"{name}: cannot connect: {first_line(error.orig or error)}; check the address") from error
    except (DBAPIError, UnicodeDecodeError) as error:  # of a message of SQLite that quotes a damaged name
        reason = first_line(error.orig or error) if isinstance(error, DBAPIError) else "it is damaged"
        raise InputError(f"{name}: not a database that can be read: {reason}; name another database") from error
    return store


def open_results(where: str | Path) -> Store:
    """An existing database, opened only to be read. Raises InputError as `open_store` does."""
    return open_store(where, create=False, read_only=True)


def check_place(where: str | Path, *, create: bool, read_only: bool) -> tuple[URL, str]:
    """URL and name of a database, as `parse` gives them, after checks that open no connection.

    Raises InputError where its file is none, or may not be written though it is to be: the example database never is.
    """
    url, name = parse(where)
    if IMMUTABLE in url.query and not read_only:
        raise InputError(f"{name}: the example database, which is only read; name another, as in --db mine.db")
    if url.get_backend_name() == "sqlite":
        sqlite.check_file(Path(url.database or ""), name, create=create, read_only=read_only)
    return url, name


def address_of(where: str | Path) -> str:
    """The path or URL of a database; of env:NAME that which the variable NAME holds. Raises InputError without one."""
    text = str(where)
    if not text.startswith(FROM_ENVIRONMENT):
        return text
    name = text.removeprefix(FROM_ENVIRONMENT)
    if not os.environ.get(name):
        raise InputError(
            f"{text}: the environment has no variable {name}; set it to a file or postgresql://USER@HOST/NAME"
        )
    return os.environ[name]


def parse(where: str | Path) -> tuple[URL, str]:
    """SQLAlchemy's URL of a database's path or URL, and the database's name in messages (a password hidden).

    `example` is the example database, unless the working folder has a file of that name.
    """
    text = address_of(where)
    keep_secrets(text)
    if text == EXAMPLE and example_here() is None:
        return URL.create("sqlite", database=str(example_database()), query={IMMUTABLE: "1"}), text
    if "://" not in text:
        if argument_shown(text) != text and not Path(text).exists():
            raise InputError(f"{argument_shown(text)}: not a database address; give postgresql://USER@HOST/NAME")
        return URL.create("sqlite", database=text), text
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        shown = argument_shown(text)
        raise InputError(f"{shown}: not a database address; give a file or postgresql://USER@HOST/NAME") from None
    keep_secrets(text, str(url.password or ""), *(str(value) for key, value in url.query.items() if "password" in key))
    name = without_passwords(url.render_as_string(hide_password=True))
    if str(where).startswith(FROM_ENVIRONMENT):
        name = str(where)  # as hints repeat it
    if url.get_backend_name() not in NOW:
        raise InputError(f"{name}: unknown database {url.drivername!r}; give a file or postgresql://USER@HOST/NAME")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return url, name if url.get_backend_name() == "postgresql" else (url.database or name)


def schema_of(connection: Connection) -> str | None:
    """The number of an open database's schema; None where it has no tables of hashbench."""
    return _schema_among(connection, sa.inspect(connection).get_table_names())


def _schema_among(connection: Connection, tables: Sequence[str]) -> str | None:
    if alembic_version.name not in tables:
        return None
    number = str(connection.execute(sa.select(alembic_version.c.version_num)).scalar())
    return number if number.isdecimal() else None


def _connect(url: URL, name: str, read_only: bool) -> Store:
    try:
        with explained():
            return Store(url, name, read_only=read_only)
    except (ModuleNotFoundError, NoSuchModuleError) as error:  # postgresql+DRIVER
        raise InputError(f"{name}: {first_line(error)}; give postgresql://USER@HOST/NAME") from error


def _make_or_check(store: Store, *, create: bool) -> None:
    with store.read() as connection:
        # once: another process may be making them
        tables = sa.inspect(connection).get_table_names()
        schema = _schema_among(connection, tables)
        foreign = schema is None and bool(tables)
        # every schema since FIRST_SCHEMA has the tables that are read: the later ones only add to them
        readable = schema == SCHEMA or (store.read_only and schema is not None and FIRST_SCHEMA <= schema < SCHEMA)
        if readable:
            for fault in malformed.missing_tables(connection):
                raise InputError(f"{store.name}: malformed: {fault}; {malformed.DAMAGE_REMEDY}")
        stale = readable and not (setting.name in tables and views.are_current(connection))
    if schema is None:
        if foreign:
            raise InputError(f"{store.name}: a database, but not one of hashbench; name another database")
        if not create:
            raise InputError(f"{store.name}: an empty database; run hashbench sweep first, or name another database")
        _make(store)
    elif not readable:
        raise schema_error(store.name, schema)
    elif stale and store.read_only:
        _show_temporary_views(store)
    elif stale:
        with store.write() as connection:
            views.create(connection)


def schema_error(name: str, schema: str) -> InputError:
    """The error for a database of a schema that this program does not read, with the remedy."""
    versions = f"{name}: schema {int(schema)}, this program writes {int(SCHEMA)}"
    if schema > SCHEMA:  # revisions are zero-padded numbers
        return InputError(f"{versions}; install a newer hashbench (hashbench db upgrade cannot go back)")
    upgrade = f"hashbench db upgrade --db {name}"
    if schema < FIRST_SCHEMA:
        return InputError(f"{versions} and reads none from before 0.1.0; run at commit {BEFORE_FIRST}: {upgrade}")
    return InputError(f"{versions}; run: {upgrade}")


def _make(store: Store) -> None:
    """Creates all tables and views in one transaction, unless another process did so first."""
    if store.dialect == "sqlite":
        sqlite.turn_on_wal(store._writer)
    with store.write() as connection:
        if store.dialect == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MAKING_LOCK)))
        if schema_of(connection) is not None:
            return
        metadata.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(alembic_version).values(version_num=SCHEMA))
        views.create(connection)


def _show_temporary_views(store: Store) -> None:
    """Hides the views of a database that must not change behind temporary ones of this program."""

    def make(dbapi_connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
        cursor = dbapi_connection.cursor()
        for statement in views.temporary():
            cursor.execute(statement)
        cursor.close()
        # psycopg has begun a transaction; the driver of SQLite has none here
        dbapi_connection.commit()

    store._reader.dispose()
    sa.event.listen(store._reader, "connect", make)
