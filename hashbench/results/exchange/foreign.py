"""Rows of a database that others filled, looked at before they enter this one.

SQLite keeps a text in a column of numbers, a compressed array may unfold to any size, and a path may lead anywhere.
What is wrong raises ValueError that names table and column.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from hashbench.common.errors import InputError, first_line
from hashbench.common.showing import without_passwords
from hashbench.store.packing import check_packed
from hashbench.store.result import leads_outside
from hashbench.store.schema import artifact, attempt, environment, experiment, predictions, run

REMEDY = "runs before it were merged, nothing of it was; ask who made it for a whole copy"
JSON_BLOCKS = {
    run.name: ("spec",),
    attempt.name: ("notes",),
    environment.name: ("packages", "hardware"),
    experiment.name: ("config",),
}


def checked(table: sa.Table, row: RowMapping | Mapping[str, Any]) -> dict[str, Any]:
    """The row, every value of its column's type, without passwords."""
    values = dict(row)
    for column in table.columns:
        if column.name not in values:
            raise ValueError(f"{table.name}: no column {column.name}")
        value = values[column.name]
        if not _fits(column, value):
            raise ValueError(f"{table.name}.{column.name}: {type(value).__name__} where {column.type} belongs")
    for name in JSON_BLOCKS[table.name] if table.name in JSON_BLOCKS else ():
        if not isinstance(json.loads(values[name]), dict):
            raise ValueError(f"{table.name}.{name}: no block of JSON")
    if table is predictions:
        for name in ("outputs", "targets"):
            try:
                check_packed(values[name], values["n"])
            except ValueError as error:
                raise ValueError(f"predictions.{name}: {error}") from error
    if table is artifact and leads_outside(values["url"]):
        raise ValueError(f"artifact.url: {values['url']!r} leads out of its folder")
    if table is attempt and (values["ended_at"] is None) != (values["state"] == "running"):
        raise ValueError("attempt.ended_at: does not agree with its state")
    if table is experiment:
        values["command"] = without_passwords(values["command"])
    return values


def _fits(column: sa.Column[Any], value: object) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, sa.LargeBinary):
        return isinstance(value, bytes)
    if isinstance(column.type, sa.Integer):
        return isinstance(value, int) and -(2**63) <= value < 2**63
    if isinstance(column.type, sa.Float):
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, str)


@contextmanager
def told_in_one_line(name: str) -> Iterator[None]:
    """Turns what a malformed database brings about into one line. An outage of the database that is filled is none."""
    try:
        yield
    except (StatementError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError):
            raise
        cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
        raise InputError(f"{name}: malformed: {first_line(cause)}; {REMEDY}") from error
