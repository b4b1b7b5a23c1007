"""The rows of a database that somebody else made, each checked on its way.

SQLite stores a text in a column of numbers, a compressed array may unfold to any size or be damaged, a path may lead
anywhere, a table may be a view that never ends, and a row may refer to one that is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from hashbench.common.errors import InputError, first_line
from hashbench.common.showing import without_passwords
from hashbench.store.engine import Store, open_results, parse
from hashbench.store.environment import Environment
from hashbench.store.malformed import complaint, owner_of, run_of
from hashbench.store.packing import check_packed, unpack
from hashbench.store.result import leads_outside
from hashbench.store.retry import is_outage
from hashbench.store.schema import (
    artifact,
    attempt,
    dependency,
    environment,
    experiment,
    experiment_run,
    metric,
    predictions,
    run,
)

MERGE_REMEDY = "nothing of it was merged; ask who made it for a whole copy"
# columns of a run that its spec names too, under these keys
IN_SPEC = {"kind": ("kind",), "seed": ("seed",), "data_fingerprint": ("data",), "task": ("task", "name")}
INTEGER_LIMITS = {"postgresql": 2**31, "sqlite": 2**63}  # whole numbers of a column are below it

StoredRow = dict[str, Any]


def check_there(where: str | Path) -> None:
    """Raises InputError where the file of a database to merge does not exist."""
    url, name = parse(where)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise InputError(f"{name}: no such file; name the database whose results are to be taken over")


@contextmanager
def opened(where: str | Path, store: Store) -> Iterator[CheckedDatabase]:
    """The database at a path or URL, to be merged into `store`, in one transaction that only reads.

    Raises InputError where it is no database, malformed, or `store` itself. Errors on malformed rows within the context
    become one too, but not an outage of either database.
    """
    other = open_results(where)
    try:
        if _is_same(store, other):
            raise InputError(f"{other.name}: the same database; name another one to merge into {store.name}")
        with other.read() as connection, _malformed_as_input_error(other.name):
            yield CheckedDatabase(connection, INTEGER_LIMITS[store.dialect])
    finally:
        other.close()


@dataclass(frozen=True)
class CheckedDatabase:
    """A database whose rows are checked as they are read. `largest`: whole numbers must be below it."""

    connection: Connection
    largest: int = INTEGER_LIMITS["sqlite"]

    def rows(self, table: sa.Table, which: sa.ColumnElement[bool] | None = None) -> list[StoredRow]:
        """The checked rows of a table, ordered by primary key. Raises ValueError for one that does not belong there."""
        key = tuple(table.primary_key)
        query = sa.select(table).where(*(() if which is None else (which,))).order_by(*key)
        try:
            rows = [self._checked(table, row) for row in self.connection.execute(query).mappings()]
        except DBAPIError as error:
            if self.connection.dialect.name == "postgresql" and is_outage(error):
                raise
            raise ValueError(f"{table.name}: {first_line(error.orig or error)}") from error
        keys = [tuple(row[column.name] for column in key) for row in rows]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{table.name}: two rows of one key")
        return rows

    def runs(self, identify: Callable[[Mapping[str, Any]], str] | None) -> list[StoredRow]:
        """All runs, each after the runs that it needs, whose ids are under "needs".

        Raises ValueError for a run whose id or columns do not belong to its spec, that refers to a missing row, or that
        needs itself.
        """
        rows = {row["id"]: {**row, "needs": []} for row in self.rows(run)}
        for row in rows.values():
            _check_spec(row, identify)
        for need in self.rows(dependency):
            _check_known(dependency, rows, need["run_id"], need["needs_run_id"])
            rows[need["run_id"]]["needs"].append(need["needs_run_id"])
        order = TopologicalSorter({run_id: row["needs"] for run_id, row in rows.items()})
        try:
            return [rows[run_id] for run_id in order.static_order()]
        except CycleError as error:
            raise ValueError(f"dependency: run {error.args[1][0][:12]} needs itself") from error

    def attempts(self, row: Mapping[str, Any]) -> list[StoredRow]:
        """The ended attempts at a run. Raises ValueError for a finished run without the attempt that finished it."""
        ended = self.rows(attempt, sa.and_(attempt.c.run_id == row["id"], attempt.c.state != "running"))
        if row["state"] == "done" and not any(
            a["id"] == row["finished_attempt"] and a["state"] == "done" for a in ended
        ):
            raise ValueError(f"run {row['id'][:12]}: done without the attempt that finished it")
        return ended

    def members(self, experiment_id: int, run_ids: Mapping[str, Any]) -> list[StoredRow]:
        """The runs of an experiment in their order. Raises ValueError for one that is not among `run_ids`."""
        rows = self.rows(experiment_run, experiment_run.c.experiment_id == experiment_id)
        _check_known(experiment_run, run_ids, *(row["run_id"] for row in rows))
        return sorted(rows, key=lambda row: row["position"])

    def environment(self, key: str | None) -> StoredRow | None:
        """The row of an environment under the id of its content; without the text of an uncommitted change."""
        rows = self.rows(environment, environment.c.id == key)
        if not rows:
            return None
        return dict(Environment.of_row(rows[0]).without_diff().row())

    def _checked(self, table: sa.Table, row: RowMapping) -> StoredRow:
        """The row without passwords. Raises ValueError for a value that does not fit its column."""
        values = dict(row)
        try:
            for column in table.columns:
                if why := complaint(column, values[column.name], largest=self.largest):
                    raise ValueError(f"{table.name}.{column.name}: {why}")
            CHECKS.get(table.name, lambda _: None)(values)
        except ValueError as error:
            owner = owner_of(table.name, values, partial(run_of, self.connection))
            raise ValueError(f"{owner}: {error}" if owner else str(error)) from error
        return values


def _check_spec(row: Mapping[str, Any], identify: Callable[[Mapping[str, Any]], str] | None) -> None:
    spec = json.loads(row["spec"])
    if identify is not None and (right := identify(spec)) != row["id"]:
        raise ValueError(f"run {row['id'][:12]}: its spec is that of run {right[:12]}")
    for column, keys in IN_SPEC.items():
        value: Any = spec
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None and row[column] not in (None, value):
            raise ValueError(f"run {row['id'][:12]}: {column} {row[column]!r}, but {value!r} in its spec")


def _check_known(table: sa.Table, rows: Mapping[str, Any], *run_ids: str) -> None:
    for run_id in run_ids:
        if run_id not in rows:
            raise ValueError(f"{table.name}: no run {run_id[:12]}")


def _check_attempt(values: StoredRow) -> None:
    if (values["ended_at"] is None) != (values["state"] == "running"):
        raise ValueError("attempt.ended_at: does not agree with its state")


def _check_metric(values: StoredRow) -> None:
    if values["value"] is None and values["reason"] is None:
        raise ValueError("metric.reason: none for a missing value")


def _check_predictions(values: StoredRow) -> None:
    for name in ("outputs", "targets"):
        try:
            check_packed(values[name], values["n"])
            unpack(values[name])
        except (ValueError, SyntaxError) as error:  # numpy reads the header as Python
            raise ValueError(f"predictions.{name}: {first_line(error)}") from error


def _check_artifact(values: StoredRow) -> None:
    if leads_outside(values["url"]):
        raise ValueError(f"artifact.url: {values['url']!r} leads out of its folder")


def _hide_password(values: StoredRow) -> None:
    values["command"] = without_passwords(values["command"])


CHECKS: dict[str, Callable[[StoredRow], None]] = {
    attempt.name: _check_attempt,
    metric.name: _check_metric,
    predictions.name: _check_predictions,
    artifact.name: _check_artifact,
    experiment.name: _hide_password,
}


def _is_same(store: Store, other: Store) -> bool:
    if store.dialect == other.dialect == "sqlite":
        return Path(store.url.database or "").samefile(other.url.database or "")
    return store.url == other.url


@contextmanager
def _malformed_as_input_error(name: str) -> Iterator[None]:
    """A context that turns errors from malformed rows into an InputError, but not an outage of either database."""
    try:
        yield
    except (StatementError, ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError):
            raise
        cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
        raise InputError(f"{name}: malformed: {first_line(cause)}; {MERGE_REMEDY}") from error
