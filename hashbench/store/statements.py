"""Parts of SQL statements that both databases need; opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

Item = TypeVar("Item")
CHUNK = 500  # ids an IN clause; SQLite's oldest limit is 999 parameters


def chunks(rows: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """The rows in parts of at most `size`, small enough for one SQL statement."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def dialect_insert(dialect: str, table: sa.Table) -> Any:
    """The INSERT of a dialect, which can say what happens to rows whose key is there already."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)
    from sqlalchemy.dialects.postgresql import insert  # loads all its drivers, which takes a while

    return insert(table)


def insert_rows(connection: Connection, insert: sa.Insert, rows: Iterable[Mapping[str, Any] | RowMapping]) -> None:
    """Inserts any number of rows; an empty list inserts nothing, where SQLAlchemy would insert a row of defaults."""
    values = [dict(row) for row in rows]
    if values:
        connection.execute(insert, values)
