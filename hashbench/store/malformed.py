"""Stored values that cannot be what their column holds: of a file from elsewhere, of a damaged one, of another program.

SQLite stores a text in a column of numbers and counts it as 0 in a mean, so the columns of numbers that a command reads
are looked at when it reads them first (`check_numbers`). All else shows itself as an error in reading: only then are
all rows gone through, one by one, to name the run and the column (`fault_behind`). `complaint` is the one rule for a
value; a merge asks it of every row.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import DBAPIError

from hashbench.common.errors import InputError, first_line
from hashbench.store.schema import (
    artifact,
    attempt,
    content_sum,
    dependency,
    environment,
    experiment,
    experiment_run,
    metadata,
    metric,
    predictions,
    reading,
    run,
    setting,
)
from hashbench.store.views import VIEWS

LARGEST = 1e39  # above every float32, in which all is computed
LATEST = 253_402_300_800.0  # the year 10000: no date is as late
TIMES = {"created_at", "called_at", "started_at", "heartbeat_at", "lease_until", "ended_at", "finished_at"}
WORDS = {
    run.c.state: ("planned", "running", "done", "failed", "void"),
    attempt.c.state: ("running", "done", "failed", "lost", "interrupted", "void"),
    predictions.c.checkpoint: ("best", "last"),
}
# Forms of blocks of JSON, as far as readers rely on them. A mapping may lack a key; "*": any key, ...: any value
ANY: Any = ...
TEXTS = {"*": str}
NAMED = {"name": str, "*": ANY}
RECIPE = {"seeds": ([int], {"*": [int]}), "corpora": [str], "*": ANY}
SPEC = {
    "kind": str,
    "seed": (int, None),
    "task": (NAMED, None),
    "data": (str, None),
    "model": {"encoder": {"kind": str, "*": ANY}, "tokenizer": {"*": ANY}, "objective": ({"kind": str, "*": ANY}, None),
              "embedding_args": {"*": ANY}, "coder": {"*": ANY}, "pooling": str, "*": ANY},
    "pretrain": ({"*": ANY}, str, None),
    "finetune": ({"*": ANY}, str, None),
    "corpus": ({"corpora": [NAMED], "*": ANY}, None),
    "settings": {"traits": TEXTS, "*": ANY},
    "*": ANY,
}  # fmt: skip
TASK_RECORD = {"origin": str, "fingerprint": str, "notes": [str], "rows": {"*": int}, "*": ANY}
CONFIG = {
    "provenance": {"sources": [str], "tasks": {"*": TASK_RECORD}, "corpora": {"*": {"*": ANY}}, "*": ANY},
    "models": ([(str, {"pretrain": (RECIPE, None), "*": ANY})], str, None),
    "pretrain": (RECIPE, None),
    "data": (str, [str], None),
    "*": ANY,
}
BLOCKS = {
    run.c.spec: SPEC,
    attempt.c.notes: TEXTS,
    environment.c.packages: TEXTS,
    environment.c.hardware: {"*": ANY},
    experiment.c.config: CONFIG,
}
# Tables in the order in which they are looked at: those that others refer to come first
ORDER = (
    experiment, run, experiment_run, dependency, environment, attempt, metric, predictions, artifact, reading, setting,
    content_sum,
)  # fmt: skip
KINDS = {sa.LargeBinary: "bytes", sa.Integer: "a whole number", sa.Float: "a number", sa.Text: "a text"}

LooseRow = Mapping[str, Any] | RowMapping


@dataclass(frozen=True)
class Fault:
    """A value that cannot be: the run, experiment or environment that it belongs to, its column, and what it is."""

    where: str  # "run 3fa2...", "experiment 'glue'", or "" for what belongs to none
    column: str  # "metric.value"; "" for a table as a whole
    what: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.column, self.what) if part)


def complaint(column: sa.Column[Any], value: object, *, largest: int = 2**63) -> str:
    """Why a value cannot be one of the column, in words, or ''. `largest`: whole numbers are below it."""
    if value is None:
        return "" if column.nullable else "nothing, where a value belongs"
    for kind, fits in (
        (sa.LargeBinary, lambda: isinstance(value, bytes)),
        (sa.Integer, lambda: _is_whole(value, 2**63 if isinstance(column.type, sa.BigInteger) else largest)),
        (sa.Float, lambda: _is_number(value, column.name in TIMES)),
        (object, lambda: isinstance(value, str)),
    ):
        if isinstance(column.type, kind) and not fits():
            wanted = "a time" if column.name in TIMES else KINDS.get(kind, "a text")
            shown = f" ({value})" if isinstance(value, float) else ""
            return f"{type(value).__name__}{shown} where {wanted} belongs"
        if isinstance(column.type, kind):
            break
    return _of_text(column, value) if isinstance(value, str) else ""


def _is_whole(value: object, largest: int) -> bool:
    return isinstance(value, int) and -largest <= value < largest


def _is_number(value: object, is_time: bool) -> bool:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return 0 <= value < LATEST if is_time else abs(value) <= LARGEST


def _of_text(column: sa.Column[Any], value: str) -> str:
    """Why a text cannot be one of the column, or ''."""
    if "\0" in value:  # which PostgreSQL does not store
        return "a text with NUL in it"
    if any("\ud800" <= character <= "\udfff" for character in value):
        return "not UTF-8"
    if column in WORDS and value not in WORDS[column]:
        return f"{value!r} is none of {', '.join(WORDS[column])}"
    if column not in BLOCKS:
        return ""
    try:
        block = json.loads(value)
        # numbers that are none and lone surrogates are no JSON that a database takes back
        json.dumps(block, ensure_ascii=False, allow_nan=False).encode()
        return _of_form(block, BLOCKS[column])
    except RecursionError:
        return "JSON that is nested too deep"
    except ValueError as error:
        return f"no JSON ({first_line(error)})"


def _of_form(value: object, form: Any, place: str = "") -> str:
    """Why a parsed block of JSON has not the form, or ''."""
    forms = form if isinstance(form, tuple) else (form,)
    reason = ""
    for choice in forms:
        if choice is ANY or (choice is None and value is None):
            return ""
        if isinstance(choice, type):
            fits = isinstance(value, choice) and not isinstance(value, bool)
            reason = "" if fits else f"{_kind(value)} at {place!r}, where {KINDS_OF_JSON[choice]} belongs"
        elif isinstance(choice, list) and isinstance(value, list):
            reason = next((why for part in value if (why := _of_form(part, choice[0], f"{place}[]"))), "")
        elif isinstance(choice, dict) and isinstance(value, dict):
            parts = ((key, part, choice.get(key, choice.get("*", ANY))) for key, part in value.items())
            reason = next(
                (why for key, part, of in parts if (why := _of_form(part, of, f"{place}.{key}".strip(".")))), ""
            )
        else:
            wanted = "a list" if isinstance(choice, list) else "a block" if isinstance(choice, dict) else "null"
            reason = f"{_kind(value)}{f' at {place!r}' if place else ''}, where {wanted} belongs"
        if not reason:
            return ""
    return reason


KINDS_OF_JSON: dict[type | None, str] = {str: "a text", int: "a whole number"}


def _kind(value: object) -> str:
    """A JSON value's kind in words."""
    kinds = {dict: "a block", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def check_tables(connection: Connection, name: str, *, since_first: bool) -> None:
    """Raises InputError where a table or a column is not there, or a view is in its place: to read one may never end.

    `name`: of the database. `since_first`: it has the tables that joined the schema after its first version.
    """
    there = kinds_of_tables(connection)
    columns: dict[str, set[str]] = {}
    if connection.dialect.name == "sqlite":
        infos = "SELECT m.name, c.name FROM main.sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        for table_name, column in connection.execute(sa.text(infos)).all():
            columns.setdefault(table_name, set()).add(column)
    for table in ORDER if since_first else ORDER[:-1]:
        what = ""
        if there.get(table.name) != "table":
            what = "no such table" if table.name not in there else "a view where a table belongs"
        elif missing := {column.name for column in table.columns} - columns.get(table.name, set(table.columns.keys())):
            what = f"no such column: {min(missing)}"
        if what:
            raise InputError(f"{name}: malformed: {Fault('', table.name, what)}; {REMEDY}")


def check_numbers(connection: Connection, name: str, table: str, experiment_id: int | None) -> None:
    """Raises InputError where a column of a table holds what is no number, no text or no time, as its columns say.

    `name`: of the database. `experiment_id`: only rows of this experiment; None: all rows.
    """
    where = sa.text(SCOPES[table]) if experiment_id is not None and table in SCOPES else sa.true()
    wrong = _wrong_columns(table, connection.dialect.name)
    if not wrong:
        return
    column = sa.case(*((condition, sa.literal(of)) for of, condition in wrong.items()))
    rows = sa.select(column, *(metadata.tables[table].c[key] for key in REFERENCES if key in metadata.tables[table].c))
    rows = rows.select_from(metadata.tables[table]).where(sa.or_(*wrong.values()), where).limit(1)
    key = {} if experiment_id is None else {"experiment": experiment_id}
    row = connection.execute(rows, key if "experiment" in str(where) else {}).first()
    if row is not None:
        of = metadata.tables[table].c[row[0]]
        wanted = (
            "a time" if of.name in TIMES else next(word for kind, word in KINDS.items() if isinstance(of.type, kind))
        )
        owner = owner_of(table, row._mapping, lambda number: run_of(connection, number))
        raise InputError(f"{name}: {Fault(owner, f'{table}.{of.name}', f'no value where {wanted} belongs')}; {REMEDY}")


REMEDY = "take a whole copy (hashbench db check lists what is damaged)"
REFERENCES = ("run_id", "attempt_id", "experiment_id", "id")
MEMBERS = "(SELECT run_id FROM experiment_run WHERE experiment_id = :experiment)"
SCOPES = {
    run.name: f"run.id IN {MEMBERS}",
    experiment_run.name: "experiment_run.experiment_id = :experiment",
    attempt.name: f"attempt.run_id IN {MEMBERS}",
    **{
        table.name: f"{table.name}.attempt_id IN (SELECT finished_attempt FROM run WHERE id IN {MEMBERS})"
        for table in (metric, predictions, artifact)
    },
}


@cache
def _wrong_columns(table: str, dialect: str) -> dict[str, sa.ColumnElement[bool]]:
    """Conditions by column: that it holds what is not of its type. Bytes are looked at by those who unpack them."""
    conditions: dict[str, sa.ColumnElement[bool]] = {}
    for column in metadata.tables[table].columns:
        if isinstance(column.type, sa.Float):
            # of texts and NaN, too, which both databases sort behind every number
            least, most = (0.0, LATEST) if column.name in TIMES else (-LARGEST, LARGEST)
            conditions[column.name] = ~column.between(sa.literal(least), sa.literal(most))
        elif dialect == "sqlite" and isinstance(column.type, sa.Integer):
            conditions[column.name] = sa.func.typeof(column).not_in(["integer", "null"])
        elif dialect == "sqlite" and not isinstance(column.type, sa.LargeBinary):
            # SQLite sorts texts behind numbers and before bytes; to compare takes a third of the time of `typeof`
            conditions[column.name] = sa.or_(column < sa.literal(""), column >= sa.literal(b"", sa.LargeBinary))
    return conditions


@cache
def tables_in(sql: str) -> tuple[str, ...]:
    """The tables that a query reads, also through views.

    >>> tables_in("SELECT * FROM run JOIN attempt a ON a.run_id = run.id")
    ('attempt', 'run')
    >>> tables_in("SELECT metric FROM reading")
    ('reading',)
    """
    names: set[str] = set()
    seen: set[str] = set()
    texts = [sql]
    while texts:
        clauses = re.findall(r"\b(?:FROM|JOIN)\b([\w\s,]*)", re.sub("--.*", "", texts.pop()))
        words = set(re.findall(r"\w+", " ".join(clauses))) - seen
        seen |= words
        names |= words & metadata.tables.keys()
        texts += [VIEWS[name] for name in words & VIEWS.keys()]
    return tuple(sorted(names))


def faults(connection: Connection, tables: Sequence[sa.Table] = ORDER) -> Iterator[Fault]:
    """Yields every value that cannot be, table by table; a table that cannot be read to its end, once."""
    attempts: dict[object, object] = {}
    there = kinds_of_tables(connection)
    for table in tables:
        if there.get(table.name, "table") != "table":
            yield Fault("", table.name, "a view where a table belongs")
            continue
        if table.name not in there:
            if table is not content_sum:
                yield Fault("", table.name, "no such table")
            continue
        try:
            for row in _raw_rows(connection, table):
                if table is attempt:
                    attempts[row["id"]] = row["run_id"]
                owner = owner_of(table.name, row, attempts.get)
                for column in table.columns:
                    if why := complaint(column, row[column.name]):
                        yield Fault(owner, f"{table.name}.{column.name}", why)
        except (DBAPIError, sqlite3.Error) as error:
            yield Fault("", table.name, first_line(getattr(error, "orig", None) or error))


def kinds_of_tables(connection: Connection) -> dict[str, str]:
    """Names in the database with "table", "view" or "virtual"; to read one of the last two may never end."""
    inspector = sa.inspect(connection)
    kinds = dict.fromkeys(inspector.get_table_names(), "table") | dict.fromkeys(inspector.get_view_names(), "view")
    if connection.dialect.name == "sqlite":
        virtual = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
        kinds |= dict.fromkeys(connection.execute(sa.text(virtual)).scalars(), "virtual")
    return kinds


def _raw_rows(connection: Connection, table: sa.Table) -> Iterator[LooseRow]:
    """The rows of a table, with lone surrogates for bytes that are not UTF-8."""
    columns = [column.name for column in table.columns]
    if connection.dialect.name != "sqlite":
        yield from connection.execute(sa.select(table)).mappings()
        return
    driver: Any = connection.connection.driver_connection
    before, driver.text_factory = driver.text_factory, lambda data: data.decode("utf-8", "surrogateescape")
    try:
        with closing(driver.cursor()) as cursor:
            quoted = ", ".join(f"[{name}]" for name in columns)  # in other quotes a missing one would be a text
            for row in cursor.execute(f"SELECT {quoted} FROM main.[{table.name}]"):
                yield dict(zip(columns, row, strict=True))
    finally:
        driver.text_factory = before


def owner_of(table: str, row: LooseRow, run_of: Callable[[Any], object]) -> str:
    """The run, experiment or environment that a row belongs to, in words, or ''. `run_of` gives an attempt's run."""
    run_id = row["id"] if table == run.name else row.get("run_id")
    if run_id is None and "attempt_id" in row:
        run_id = run_of(row["attempt_id"])
    if run_id is not None:
        return f"run {_short(run_id)}"
    if table in (experiment.name, environment.name):
        return f"{table} {_short(row.get('name') or row['id'])}"
    return ""


def _short(name: object) -> str:
    return name[:12] if isinstance(name, str) else repr(name)


def run_of(connection: Connection, attempt_id: object) -> object:
    """The id of the run of an attempt; None where there is no such attempt."""
    return connection.execute(sa.select(attempt.c.run_id).where(attempt.c.id == attempt_id)).scalar()
