"""Writes of files and folders that exist whole or not at all, whatever ends the program that writes them.

No write replaces a database, or a file that SQLite or hashbench keeps beside one, unless it writes one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from hashbench.common.errors import InputError

UMASK = os.umask(0)  # asking sets it
os.umask(UMASK)


def with_usual_rights(path: Path) -> None:
    """Sets the permissions of a file to what the umask gives a new one.

    safetensors writes files that only their owner can read.
    """
    path.chmod(0o666 & ~UMASK)


def replace_text(path: Path, text: str) -> None:
    """Replaces a file of text in one step, so that nobody ever reads half of it; a device or pipe is written directly.

    Raises OSError where that cannot be done, also where the folder does not exist: its name is probably misspelt; and
    InputError where a database is in its place.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path.parent.stat()
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def atomic_write(path: Path, *, over_database: bool = False) -> Iterator[Path]:
    """Yields a path beside `path`, a file or a folder to be written; it takes the name of `path` when the block ends.

    After an error nothing of it is left and `path` is what it was. The name belongs to this process, so that two
    processes may write the same file; the last one counts. A folder must not exist yet. Makes the parent folders.
    A link goes on pointing to its file, and a file keeps its rights. Raises InputError where a database is in its
    place, unless what is written is one (`over_database`).

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "new" / "file.txt"
    >>> with atomic_write(target) as part:
    ...     _ = part.write_text("whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    path = path.resolve()
    if not over_database:
        refuse_database(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        if path.is_file():
            part.chmod(path.stat().st_mode & 0o777)
        os.replace(part, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)  # which the user knows
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
        raise


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

    Also where it does not exist: SQLite would take a new file of that name for a part of the database.

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
    """The database that `path`, by its name, is a part or a saved copy of; None where no database is beside it."""
    ends = "|".join(re.escape(end) for end in BESIDE)
    named = re.fullmatch(rf"(.+?)({ends}|{SAVED})", path.name, re.IGNORECASE)
    database = path.with_name(named[1]) if named else None
    return database if database is not None and is_database(database) else None


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
