"""Whether the file of a database is still the one that was opened, and a copy of it where it is not."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from hashbench.common.errors import InputError


class DatabaseMoved(InputError):
    """The file of an open database was deleted, or another one stands in its place: nothing more may be written."""


class OpenFile:
    """A file of SQLite that a process has open. Its inode says whether the path still leads to it."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self._inode: tuple[int, int] | None = None  # device and number, of the first connection

    def opened(self) -> None:
        """Notes the file of a new connection. Raises DatabaseMoved where an earlier one has another file."""
        if self._inode is None:
            self._inode = self._inode_at_path()
        self.check()

    def check(self) -> None:
        """Raises DatabaseMoved unless the file at the path is the one that was opened."""
        if self._inode is None or (now := self._inode_at_path()) == self._inode:
            return
        how = "its file was deleted or renamed" if now is None else "another file was put in its place"
        raise DatabaseMoved(f"{self.name}: {how} while it was in use; nothing more is written")

    def _inode_at_path(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


def save_copy(connection: sqlite3.Connection, path: Path) -> Path:
    """Writes what an open connection reads to a new file beside `path`, which is gone or is another by now.

    Raises sqlite3.Error where that cannot be.
    """
    number = 1
    while (copy := path.with_name(f"{path.name}.saved-{number}")).exists():
        number += 1
    connection.execute("VACUUM INTO ?", (str(copy),))
    return copy
