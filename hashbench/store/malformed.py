"""Stored values that cannot be what their column holds: of a file from elsewhere, of a damaged one, of another program.

`complaint` is the one rule for a value: a merge applies it to every row, and `faults` to all rows once a command has
failed to read one. A text in a column of numbers fails nothing, since SQLite counts it as 0 in a mean: `check_numbers`
looks for one in each table before it is first read.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import DBAPIError
from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

from hashbench.common.errors import InputError, first_line
from hashbench.store.schema import (
    ATTEMPT_STATES,
    CHECKPOINTS,
    STATES,
    artifact,
    attempt,
    content_sum,
    environment,
    experiment,
    experiment_run,
    metadata,
    metric,
    predictions,
    run,
)
from hashbench.store.views import VIEWS

DAMAGE_REMEDY = "take a whole copy (hashbench db check lists what is damaged)"
LARGEST_NUMBER = 1e39  # above every float32, in which all is computed
LATEST = 253_402_300_800.0  # the year 10000: no date is as late
TIMES = {"created_at", "called_at", "started_at", "heartbeat_at", "lease_until", "ended_at", "finished_at"}
WORDS = {run.c.state: STATES, attempt.c.state: ATTEMPT_STATES, predictions.c.checkpoint: CHECKPOINTS}
# Forms of blocks of JSON, as far as readers rely on them. Any key may be missing, and others may be there.
_Json = dict[str, Any]
_Texts = dict[str, str]


def _block(**parts: Any) -> Any:
    return TypedDict("_block", parts, total=False)  # type: ignore[operator]


NAMED, KIND = _block(name=str), _block(kind=str)
RECIPE = _block(seeds=list[int] | dict[str, list[int]], corpora=list[str])
MODEL = _block(
    encoder=KIND, tokenizer=_Json, objective=KIND | None, embedding_args=_Json, coder=_Json, pooling=str
)  # fmt: skip
SPEC = _block(
    kind=str, seed=int | None, task=NAMED | None, data=str | None, model=MODEL, pretrain=_Json | str | None,
    finetune=_Json | str | None, corpus=_block(corpora=list[NAMED]) | None, settings=_block(traits=_Texts),  # type: ignore[valid-type]
)  # fmt: skip
TASK = _block(origin=str, fingerprint=str, notes=list[str], rows=dict[str, int])
CONFIG = _block(
    provenance=_block(sources=list[str], tasks=dict[str, TASK], corpora=dict[str, _Json]),  # type: ignore[valid-type]
    models=list[str | _block(pretrain=RECIPE | None)] | str | None, pretrain=RECIPE | None,  # type: ignore[misc]
    data=str | list[str] | None,
)  # fmt: skip
BLOCKS: dict[sa.Column[Any], Any] = {
    run.c.spec: SPEC, attempt.c.notes: _Texts, environment.c.packages: _Texts, environment.c.hardware: _Json,
    experiment.c.config: CONFIG,
}  # fmt: skip
KINDS_OF_JSON = {dict: "a block", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
WANTED = {"dict_type": "a block", "list_type": "a list", "string_type": "a text", "int_type": "a whole number"}

REFERENCES = ("run_id", "attempt_id", "experiment_id", "id")  # columns with the run or experiment of a row
MEMBERS = "(SELECT run_id FROM experiment_run WHERE experiment_id = :experiment)"
SCOPES = {  # which rows belong to an experiment
    run.name: f"run.id IN {MEMBERS}",
    experiment_run.name: "experiment_run.experiment_id = :experiment",
    attempt.name: f"attempt.run_id IN {MEMBERS}",
    **{
        table.name: f"{table.name}.attempt_id IN (SELECT finished_attempt FROM run WHERE id IN {MEMBERS})"
        for table in (metric, predictions, artifact)
    },
}

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
    wanted = wanted_in(column)
    below = 2**63 if isinstance(column.type, sa.BigInteger) else largest
    number = value if isinstance(value, int | float) and math.isfinite(value) else math.inf
    fits = {
        "bytes": isinstance(value, bytes),
        "a whole number": isinstance(value, int) and -below <= value < below,
        "a time": 0 <= number < LATEST,
        "a number": abs(number) <= LARGEST_NUMBER,
        "a text": isinstance(value, str),
    }
    if not fits[wanted]:
        return f"{type(value).__name__}{f' ({value})' if isinstance(value, float) else ''} where {wanted} belongs"
    return _of_text(column, value) if isinstance(value, str) else ""


def wanted_in(column: sa.Column[Any]) -> str:
    """The kind of a column's values in words."""
    if column.name in TIMES:
        return "a time"
    kinds = ((sa.LargeBinary, "bytes"), (sa.Integer, "a whole number"), (sa.Float, "a number"))
    return next((word for kind, word in kinds if isinstance(column.type, kind)), "a text")


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
    except RecursionError:
        return "JSON that is nested too deep"
    except ValueError as error:
        return f"no JSON ({first_line(error)})"
    return _of_form(column, block)


def _of_form(column: sa.Column[Any], block: object) -> str:
    """The reason that a parsed block of JSON does not have the form of its column, or ''."""
    from pydantic import ValidationError  # of use to no command that only reads

    try:
        _form(column).validate_python(block, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        kind = KINDS_OF_JSON.get(type(first["input"]), "a number")
        return f"{kind}{f' at {place!r}' if place else ''}, where {WANTED.get(first['type'], 'another')} belongs"
    return ""


@cache
def _form(column: sa.Column[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(BLOCKS[column])


def faults(connection: Connection) -> Iterator[Fault]:
    """Yields every value that cannot be, table by table; a table that cannot be read to its end, once."""
    attempts: dict[object, object] = {}
    missing = {fault.column: fault for fault in missing_tables(connection)}
    for table in metadata.tables.values():  # tables that others refer to come first
        if table.name in missing:
            yield missing[table.name]
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


def missing_tables(connection: Connection) -> Iterator[Fault]:
    """Yields each table that is not there, lacks a column, or is a view: to read a view may never end.

    An older schema has no sums.
    """
    inspector = sa.inspect(connection)
    tables, others, columns = set(inspector.get_table_names()), set(inspector.get_view_names()), dict[str, set[str]]()
    if connection.dialect.name == "sqlite":
        virtual = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
        others |= set(connection.execute(sa.text(virtual)).scalars())
        infos = "SELECT m.name, c.name FROM main.sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        for table_name, column in connection.execute(sa.text(infos)).all():
            columns.setdefault(table_name, set()).add(column)
    for table in metadata.tables.values():
        missing = set(table.columns.keys()) - columns.get(table.name, set(table.columns.keys()))
        if table.name in others:
            yield Fault("", table.name, "a view where a table belongs")
        elif table.name not in tables and table is not content_sum:
            yield Fault("", table.name, "no such table")
        elif missing:
            yield Fault("", table.name, f"no such column: {min(missing)}")


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


def check_numbers(connection: Connection, name: str, table: str, experiment_id: int | None) -> None:
    """Raises InputError where a column of a table holds what is no number, no text or no time, as its columns say.

    `name`: of the database. `experiment_id`: only rows of this experiment; None: all rows.
    """
    wrong = _wrong_columns(table, connection.dialect.name)
    if not wrong:
        return
    of = metadata.tables[table]
    column = sa.case(*((condition, sa.literal(name)) for name, condition in wrong.items()))
    rows = sa.select(column, *(of.c[key] for key in REFERENCES if key in of.c)).where(sa.or_(*wrong.values())).limit(1)
    if experiment_id is not None and table in SCOPES:
        rows = rows.where(sa.text(SCOPES[table]).bindparams(experiment=experiment_id))
    row = connection.execute(rows).first()
    if row is not None:
        owner = owner_of(table, row._mapping, lambda number: run_of(connection, number))
        what = f"no value where {wanted_in(of.c[row[0]])} belongs"
        raise InputError(f"{name}: {Fault(owner, f'{table}.{row[0]}', what)}; {DAMAGE_REMEDY}")


@cache
def _wrong_columns(table: str, dialect: str) -> dict[str, sa.ColumnElement[bool]]:
    """Conditions by column: that it holds what is not of its type. Bytes are looked at by those who unpack them."""
    conditions: dict[str, sa.ColumnElement[bool]] = {}
    for column in metadata.tables[table].columns:
        if isinstance(column.type, sa.Float):
            # of texts and NaN, too, which both databases sort behind every number
            least, most = (0.0, LATEST) if column.name in TIMES else (-LARGEST_NUMBER, LARGEST_NUMBER)
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
