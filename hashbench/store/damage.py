"""A damaged file of SQLite, told in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError

from hashbench.common.errors import InputError, first_line

MALFORMED = 11  # the primary code of SQLite; a file that is no database at all is told when it is opened


@contextlib.contextmanager
def damage_told(name: str) -> Iterator[None]:
    """Raises InputError where the database `name` turns out to be damaged; any other error as it is."""
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF != MALFORMED:
            raise
        raise InputError(
            f"{name}: the file is damaged ({first_line(error.orig or error)}); take a copy of it that is whole, "
            f"or save what can be read: sqlite3 {name} .recover | sqlite3 saved.db"
        ) from error
