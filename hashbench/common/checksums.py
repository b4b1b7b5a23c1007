"""Sizes and SHA-256 of files that the program made and can make again, written with them and checked before use.

A folder lists its files in its own files.json. A single file has NAME.files.json beside it. The size is compared at
every use. So is the SHA-256 of a small file; a large one is read once in a process, and again when its state changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hashbench.common.atomic import atomic_write
from hashbench.common.progress import progress
from hashbench.common.showing import tell

MANIFEST = "files.json"
HASH_BLOCK = 1 << 20  # bytes that are hashed at a time
SMALL_FILE = 1 << 24  # bytes below which a file is read again at every use, in hundredths of a second
SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use
BAD = ".bad"  # behind the name of what was set aside


class Damaged(Exception):
    """A file, or its list of checksums, is not as it was written. The message names it and says how it differs."""


@dataclass(frozen=True)
class FileSum:
    """Size and SHA-256 of a file's content."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileSum:
        """Size and SHA-256 of a file as it is now."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(HASH_BLOCK):
                digest.update(block)
                progress("checksums of files", step=False)
            return cls(file.tell(), digest.hexdigest())


Listing = Mapping[str, FileSum]  # by the path below the folder; of a single file by its name
State = list[int]

_hashed: dict[str, tuple[State | None, str]] = {}  # path -> its state when this process hashed it, and the SHA-256


def state_of(path: Path) -> State | None:
    """The state by which a large file is known after a reading; None for one that has to be read each time.

    Size and time of change alone do not tell: tar, `rsync -t` and `touch -r` set the time. The time of the last change
    of status cannot be set, and another file in its place has another inode. Both may change without the content, which
    costs a reading. A file is small, or was changed a moment ago: then its next change may bear the same time.
    """
    facts = path.stat()
    if facts.st_size < SMALL_FILE or time.time_ns() - facts.st_ctime_ns < SETTLED_NS:
        return None
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino, facts.st_ctime_ns]


def manifest_of(path: Path) -> Path:
    """The path of the list of checksums of a file or folder."""
    return path / MANIFEST if path.is_dir() else path.with_name(f"{path.name}.{MANIFEST}")


def seal(path: Path, part: Path | None = None) -> None:
    """Writes the list of checksums of a file or folder. `part`: its present path, if it will be renamed to `path`.

    The list comes first and the renaming after, so that a file at `path` always has its checksums.
    """
    written = part or path
    listing = listing_of(written, path.name)
    text = json.dumps({"files": {name: asdict(checksum) for name, checksum in sorted(listing.items())}}, indent=1)
    manifest = written / MANIFEST if written.is_dir() else path.with_name(f"{path.name}.{MANIFEST}")
    with atomic_write(manifest) as new:
        new.write_text(text, "utf-8")


def listing_of(path: Path, name: str) -> Listing:
    """Checksums of a file under the key `name`, or of all files of a folder except its list of checksums."""
    if not path.is_dir():
        return {name: FileSum.of(path)}
    files = sorted(file for file in path.rglob("*") if file.is_file() and file != path / MANIFEST)
    return {file.relative_to(path).as_posix(): FileSum.of(file) for file in files}


@contextlib.contextmanager
def sealed_write(path: Path) -> Iterator[Path]:
    """`atomic_write` of a file that also writes the file's list of checksums."""
    with atomic_write(path) as part:
        yield part
        seal(path, part)


def read_listing(manifest: Path) -> Listing | None:
    """The checksums in the file `manifest`; None if there is none. Raises Damaged where it cannot be parsed."""
    try:
        return listed_in(manifest.read_bytes(), str(manifest))
    except FileNotFoundError:
        return None


def listed_in(content: bytes, where: str) -> Listing:
    """The checksums in the content of a `files.json`.

    Raises Damaged where it cannot be parsed, or names a file elsewhere.
    """
    try:
        files = json.loads(content)["files"]
        listing = {name: FileSum(int(entry["bytes"]), str(entry["sha256"])) for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):  # no UTF-8 and no JSON are ValueErrors
        raise Damaged(f"{where}: is no list of sizes and checksums") from None
    for name in listing:
        if not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise Damaged(f"{where}: lists {name!r}, which lies elsewhere")
    return listing


def is_listed(path: Path) -> bool:
    """True where a file or folder agrees with its list of checksums; False without one, as earlier versions left it.

    Raises Damaged where it is not what was written, FileNotFoundError where there is nothing.
    """
    if not path.is_dir():
        path.stat()
    listing = read_listing(manifest_of(path))
    if listing is None:
        return False
    for name, written in listing.items():
        check_file(path / name if path.is_dir() else path, written)
    return True


def check_file(path: Path, written: FileSum) -> None:
    """Raises Damaged unless a file has the size and the SHA-256 that were written."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise Damaged(f"{path}: is missing") from None
    if facts.st_size != written.bytes:
        raise Damaged(f"{path}: has {facts.st_size:,} bytes, {written.bytes:,} were written")
    state = state_of(path)
    if state is None or _hashed.get(str(path)) != (state, written.sha256):
        if FileSum.of(path).sha256 != written.sha256:
            raise Damaged(f"{path}: holds other bytes than were written")
        _hashed[str(path)] = state, written.sha256


def set_aside(path: Path, why: object, then: str = "made again") -> None:
    """Renames a damaged file or folder to NAME.bad, in place of an older NAME.bad, and prints one line about it."""
    bad = path.with_name(path.name + BAD)
    remove(bad)
    if not path.is_dir():
        manifest_of(path).unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        os.replace(path, bad)
        tell(f"{why}; {path.name} is set aside as {bad.name} and {then}")


def remove(path: Path) -> None:
    """Removes a file with its list of checksums, or a folder; does nothing where there is none."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
        manifest_of(path).unlink(missing_ok=True)
