"""Content fingerprints of input files, remembered by (path, size, time of change), and where made things are kept."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from hashbench.atomic import atomic_write
from hashbench.errors import InputError

BLOCK = 1 << 20  # bytes read at a time


def cache_folder() -> Path:
    """Folder of everything that can be made again: HASHBENCH_CACHE, else .hashbench in the working folder."""
    return Path(os.environ["HASHBENCH_CACHE"] if "HASHBENCH_CACHE" in os.environ else ".hashbench").absolute()


def usable_cache_folder() -> Path:
    """The cache folder, if it can be made and written in; nothing is made yet.

    Raises:
        InputError: a file stands there, or the folder in which it would be made cannot be written.
    """
    folder = cache_folder()
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        what = f"{nearest} is no folder"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        what = f"{nearest} cannot be written"
    else:
        return folder
    raise InputError(f"cache folder {folder}: {what}; set HASHBENCH_CACHE to a folder that can be written")


def digest(*parts: str) -> str:
    """SHA-256 (hex) of a list of texts; where one ends and the next begins counts.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def file_fingerprint(path: Path) -> str:
    """SHA-256 (hex) of a file's content, read again only when its size or time of change is another."""
    path = path.resolve()
    status = path.stat()
    state = [status.st_size, status.st_mtime_ns]
    note = cache_folder() / "fingerprints" / f"{digest(str(path))}.json"
    remembered = read_json(note)
    if isinstance(remembered, dict) and remembered["state"] == state:
        return str(remembered["sha256"])
    checksum = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            checksum.update(block)
    write_json(note, {"state": state, "sha256": checksum.hexdigest()})
    return checksum.hexdigest()


def files_fingerprint(paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of the contents of several files in the order given."""
    return digest(*(file_fingerprint(path) for path in paths))


def read_json(path: Path) -> object:
    """What a JSON file holds, or None where there is no whole file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None


def write_json(path: Path, value: object) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never a part."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")
