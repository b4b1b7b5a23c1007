"""Checks of a database that is opened, and of each table that is first read: is it a table, are its numbers numbers?

A file from elsewhere or of an older schema may hold a text in a column of numbers, and SQLite counts it as 0 in a mean.
"""

from __future__ import annotations

import re
from functools import cache

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.common.errors import InputError
from hashbench.store.malformed import LARGEST, LATEST, REMEDY, TIMES, Fault, missing_tables, owner_of, run_of, wanted_in
from hashbench.store.schema import artifact, attempt, experiment_run, metadata, metric, predictions, run
from hashbench.store.views import VIEWS

REFERENCES = ("run_id", "attempt_id", "experiment_id", "id")  # columns that say which run or experiment a row is of
MEMBERS = "(SELECT run_id FROM experiment_run WHERE experiment_id = :experiment)"
SCOPES = {  # which rows are of an experiment
    run.name: f"run.id IN {MEMBERS}",
    experiment_run.name: "experiment_run.experiment_id = :experiment",
    attempt.name: f"attempt.run_id IN {MEMBERS}",
    **{
        table.name: f"{table.name}.attempt_id IN (SELECT finished_attempt FROM run WHERE id IN {MEMBERS})"
        for table in (metric, predictions, artifact)
    },
}


def check_tables(connection: Connection, name: str) -> None:
    """Raises InputError where a table or a column is not there, or a view is in its place. `name`: of the database."""
    for fault in missing_tables(connection):
        raise InputError(f"{name}: malformed: {fault}; {REMEDY}")


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
        raise InputError(f"{name}: {Fault(owner, f'{table}.{row[0]}', what)}; {REMEDY}")


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
