"""Content fingerprints of input files, of large ones remembered by path and state, and the cache folder's notes."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hashbench.common.atomic import atomic_write
from hashbench.common.cache import DEFAULT, mark, named_cache
from hashbench.common.checksums import FileSum, set_aside, state_of
from hashbench.common.errors import InputError

CONTENT, CHECK = "content", "check"  # of a note


def cache_folder() -> Path:
    """Folder of everything that can be made again: HASHBENCH_CACHE, else .hashbench in the working folder."""
    return named_cache() or Path(DEFAULT).absolute()


def marked_cache_folder() -> Path:
    """The cache folder, to write in: it is made, if it can be, and bears its mark from now on."""
    mark(cache_folder())
    return cache_folder()


def cache_room(name: str) -> Path:
    """One of the folders in the cache folder, to write in."""
    return marked_cache_folder() / name


def usable_cache_folder() -> Path:
    """The cache folder, if it can be made and written in; nothing is made yet.

    Raises:
        InputError: a file is there, or the folder in which it would be made cannot be written.
    """
    folder = cache_folder()
    if what := why_not_writable(folder):
        raise InputError(f"cache folder {folder}: {what}; set HASHBENCH_CACHE to a folder that can be written")
    return folder


def why_not_writable(folder: Path) -> str:
    """The reason why files cannot be made in a folder, which need not exist yet; "" where they can. Nothing is made."""
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    writable = os.access(nearest, os.W_OK | os.X_OK) and (nearest == folder or _takes_a_folder(nearest))
    return "" if writable else f"{nearest} cannot be written"


def _takes_a_folder(folder: Path) -> bool:
    """True where a folder can be made in another. It is tried: some systems report rights that they do not grant."""
    try:
        Path(tempfile.mkdtemp(dir=folder)).rmdir()
    except OSError:
        return False
    return True


def digest(*parts: str) -> str:
    """SHA-256 (hex) of a list of texts; where one ends and the next begins counts.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def file_fingerprint(path: Path) -> str:
    """SHA-256 (hex) of a file's content. A large one is read again only when its state is another (`state_of`)."""
    path = path.resolve()
    state = state_of(path)
    if state is None:
        return FileSum.of(path).sha256
    note = cache_room("fingerprints") / f"{digest(str(path))}.json"
    remembered = read_note(note)
    if remembered is not None and remembered["state"] == state:
        return str(remembered["sha256"])
    checksum = FileSum.of(path).sha256
    write_note(note, {"state": state, "sha256": checksum})
    return checksum


def files_fingerprint(paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of the contents of several files in the order given."""
    return digest(*(file_fingerprint(path) for path in paths))


class Fingerprinted(Protocol):
    """A dataclass of data that are located, with a fingerprint that it keeps once it is known."""

    @property
    def fingerprint(self) -> str: ...


def refuse_changed(located: Fingerprinted, where: str) -> None:
    """Raises InputError where data that were just read are no longer those whose fingerprint was taken before.

    Files made from the old texts are kept under that fingerprint, and would be used with the new ones.
    """
    if replace(located).fingerprint != located.fingerprint:  # type: ignore[type-var]
        raise InputError(f"{where}: was changed after this began to use it; begin again, and leave it as it is")


def read_note(path: Path) -> dict[str, Any] | None:
    """The content that `write_note` wrote to `path`; None where there is no note, or a damaged one, which is set aside.

    A note of an earlier version, without a checksum, is taken as it is and gets one.
    """
    try:
        note: object = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:  # neither JSON nor UTF-8
        note = None
    if isinstance(note, dict) and note and not note.keys() & {CONTENT, CHECK}:
        write_note(path, note)
        return note
    if isinstance(note, dict) and note.keys() == {CONTENT, CHECK} and note[CHECK] == _check(note[CONTENT]):
        return dict(note[CONTENT])
    set_aside(path, f"{path}: is damaged")
    return None


def write_note(path: Path, content: Mapping[str, object]) -> None:
    """Writes content that was fetched or computed once into a JSON file, with a checksum."""
    write_json(path, {CONTENT: content, CHECK: _check(content)})


def _check(content: object) -> str:
    return digest(json.dumps(content, sort_keys=True))


def write_json(path: Path, value: object) -> None:
    """Writes a JSON file so that a reader sees the old one or the new one, never a part."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")
