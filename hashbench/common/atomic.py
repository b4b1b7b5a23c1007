"""Writes of files and folders that exist whole or not at all, whatever ends the program that writes them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from hashbench.common.replacing import refuse_database

UMASK = os.umask(0)  # asking sets it
os.umask(UMASK)


def with_usual_rights(path: Path) -> None:
    """Sets the permissions of a file to those that the umask gives a new one.

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
    except BaseException:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
        raise
