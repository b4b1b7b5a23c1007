"""Databases that nothing else may replace, with the files that SQLite and hashbench keep beside them."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from hashbench.common.errors import InputError

# the first 16 bytes of every database file, sqlite.org/fileformat
DATABASE = b"SQLite format 3\x00"
BESIDE = ("-wal", "-shm", "-journal")  # files of SQLite beside a database, which belong to its content
SAVED = r"\.saved-\d+"  # copies of a database from before it was changed


def is_database(path: Path) -> bool:
    """True for a file that begins as every database of SQLite."""
    with contextlib.suppress(OSError):
        if path.is_file():  # a pipe would wait for its writer
            with path.open("rb") as file:
                return file.read(len(DATABASE)) == DATABASE
    return False


def refuse_database(path: Path) -> None:
    """Raises InputError where `path` leads to a database, whatever it is called and whatever link leads there."""
    if is_database(path):
        raise InputError(f"{path}: is a database, which nothing else replaces; name another file")


def is_same(path: Path, other: Path) -> bool:
    """True where both lead to one file: by links, another spelling, or in other case where the system has none."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.samefile(path, other):
            return True
    return os.path.realpath(path) == os.path.realpath(other)


def belongs_to(path: Path, database: Path) -> bool:
    """True where `path` is the file of a database, a file that SQLite has beside it, or a saved copy of it.

    Also where it does not exist: SQLite would take a new file of such a name for a part of the database.

    >>> [belongs_to(Path(name), Path("v.db")) for name in ("./v.db", "v.db-wal", "v.db.saved-2", "v.db.md")]
    [True, True, True, False]
    """
    if is_same(path, database):
        return True
    ends = "|".join(re.escape(end) for end in BESIDE)
    for base in {database.absolute(), Path(os.path.realpath(database))}:
        for own in {path.absolute(), Path(os.path.realpath(path))}:
            named = re.fullmatch(rf"{re.escape(base.name)}({ends}|{SAVED})", own.name, re.IGNORECASE)
            if named and is_same(own.parent, base.parent):
                return True
        beside = [base.with_name(f"{base.name}{end}") for end in BESIDE]
        with contextlib.suppress(OSError):
            beside += base.parent.glob(f"{_escaped(base.name)}.saved-*")
        if any(is_same(path, file) for file in beside):
            return True
    return False


def database_beside(path: Path) -> Path | None:
    """The database of which `path`, by its name, is a part or a saved copy; None where there is none beside it."""
    ends = "|".join(re.escape(end) for end in BESIDE)
    named = re.fullmatch(rf"(.+?)({ends}|{SAVED})", path.name, re.IGNORECASE)
    database = path.with_name(named[1]) if named else None
    return database if database is not None and is_database(database) else None


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
