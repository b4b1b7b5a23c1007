"""A SQLite file and its write-ahead log: read where the folder cannot be written, so that SQLite can make no log there;
and made whole when a program is done with it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

SHORT_S = 1.0  # to wait for another's transaction


def reading_address(path: Path) -> tuple[str, Path | None]:
    """The URI by which a database is only read, and a temporary folder that its reader removes at the end.

    Without a log the file is whole, and nobody can write it from here: it is read as one that does not change. With a
    log that cannot be opened in its place, a copy of both is read.
    """
    plain = f"{path.absolute().as_uri()}?mode=ro"
    if os.access(path.absolute().parent, os.W_OK) or _opens(plain):
        return plain, None
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return f"{plain}&immutable=1", None
    folder = Path(tempfile.mkdtemp(prefix="hashbench-"))
    for file in (path, log):
        shutil.copyfile(file, folder / file.name)
    return f"{(folder / path.name).as_uri()}?mode=ro", folder


def settle(path: Path) -> None:
    """Brings the log of a database into its file. Where others are at work on it, as much as they let."""
    with suppress(sqlite3.Error), closing(_connect(f"{path.absolute().as_uri()}?mode=rw")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _opens(uri: str) -> bool:
    try:
        with closing(_connect(uri)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:  # no database: whoever opens it says so
        return True
    return True


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=SHORT_S)
