"""A folder at a URL that machines share: made files are put there whole, and fetched with their checksums.

The URL is one that fsspec knows: a folder, s3://bucket/folder, gs://bucket/folder, memory://. What lies in the cache
folder has the same name there. Contents are named by their SHA-256 and never overwritten; a list of sums, written last,
says which of them are meant.

`make_once` makes a file or folder once, however many workers need it at the same time, and whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import fsspec.core
from filelock import FileLock, Timeout
from tenacity import Retrying, before_sleep_log, retry_if_not_exception_type, stop_after_attempt, wait_exponential

from hashbench.common.checksums import (
    MANIFEST,
    Damaged,
    FileSum,
    Listing,
    is_listed,
    listed_in,
    manifest_of,
    remove,
    seal,
    set_aside,
)
from hashbench.common.errors import InputError, first_line
from hashbench.common.extras import install
from hashbench.common.progress import progress
from hashbench.common.showing import tell

TRANSFER_BLOCK = 8 << 20  # bytes sent or taken at a time
TRIES, LONGEST_WAIT_S = 7, 30.0  # of a call before it counts as failed: about half a minute
LOCK_S = 60.0  # between two signs of who waits at a lock
PART = "part"  # ends the name of what is still being written

Got = TypeVar("Got")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SharedFolder:
    """A folder at a URL, in which the machines of a sweep leave files for each other."""

    url: str
    cache: Path  # of this machine

    @cached_property
    def _files(self) -> Any:
        """The file system of the URL, without a cache of listings, since other machines write too."""
        files = fsspec.core.url_to_fs(self.url, use_listings_cache=False)[0]
        if hasattr(files, "auto_mkdir"):  # where folders do not come by themselves
            files.auto_mkdir = True
        return files

    @cached_property
    def _root(self) -> str:
        return str(fsspec.core.url_to_fs(self.url, use_listings_cache=False)[1]).rstrip("/")

    @classmethod
    def at(cls, url: str, cache: Path) -> SharedFolder:
        """The shared folder at a URL, a relative path made absolute, after a test that it can be written.

        Raises InputError where fsspec does not know the URL, a package is missing, or nothing can be written.
        """
        where = f"--artifacts {url}"
        try:
            shared = cls(url, cache)
            whole = cls(str(shared._files.unstrip_protocol(shared._root)), cache)
        except ImportError as error:
            raise InputError(f"{where}: {first_line(error)}; for s3:// run: {install('s3')}") from error
        except ValueError as error:
            raise InputError(f"{where}: {first_line(error)}; give a folder, or a URL that fsspec knows") from error
        try:
            probe = f"{whole._root}/{uuid.uuid4().hex}.{PART}"
            whole._files.pipe_file(probe, b"hashbench")
            whole._files.rm_file(probe)
        except Exception as error:  # whatever the service's library raises
            raise InputError(f"{where}: cannot be written ({_reason(error)}); give another URL or rights") from error
        return whole

    def put(self, path: Path) -> None:
        """Copies a file or folder of the cache, with its checksums, to the shared folder unless it is there already.

        A failure is one line on stderr: what was made is worth more than its copy.
        """
        try:
            self._tried(lambda: self._put(path))
        except Exception as error:  # whatever the service's library raises
            tell(f"{self._name(path)}: not put to {self.url} ({_reason(error)}); other machines make it themselves")

    def fetch(self, path: Path, into: Path, sums: Collection[FileSum] = ()) -> bool:
        """Copies to `into` what other machines put for `path`, checked. False where there is none, or none intact.

        `sums`: of a single file, which must have one of them. Raises InputError where the URL cannot be read.
        """
        try:
            return self._tried(lambda: self._fetch(path, into, sums))
        except FileNotFoundError:
            return False
        except Damaged as damage:
            tell(f"{self.url}: {damage}; made again")
            return False
        except Exception as error:  # whatever the service's library raises
            what = f"{self._name(path)} cannot be fetched ({_reason(error)})"
            raise InputError(f"--artifacts {self.url}: {what}; see that it can be reached, and sweep again") from error

    def names(self, folder: Path) -> list[str]:
        """Names of the complete files and folders in one folder of the shared folder."""
        try:
            paths = self._tried(lambda: self._files.ls(self._at(folder), detail=False))
        except FileNotFoundError:
            return []
        except Exception as error:  # whatever the service's library raises
            tell(f"{self.url}: {self._name(folder)} cannot be listed ({_reason(error)}); taken as empty")
            return []
        ending = f".{MANIFEST}"
        names = sorted(PurePosixPath(name).name for name in paths)
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    def remove(self, path: Path) -> None:
        """Removes a file or folder from the shared folder, its list of checksums first. Prints a line if that fails."""
        for what in (f"{self._at(path)}.{MANIFEST}", self._at(path)):
            try:
                with contextlib.suppress(FileNotFoundError):
                    self._files.rm(what, recursive=True)
            except Exception as error:  # whatever the service's library raises
                tell(f"{self.url}: {self._name(path)} cannot be removed ({_reason(error)}); remove it by hand")

    def _put(self, path: Path) -> None:
        manifest = manifest_of(path).read_bytes()
        if self._read(f"{self._at(path)}.{MANIFEST}") == manifest:
            return
        for name, written in listed_in(manifest, str(manifest_of(path))).items():
            there = self._content(path, name, written)
            if self._size(there) != written.bytes:
                self._send(path / name if path.is_dir() else path, there, written)
        self._files.pipe_file(f"{self._at(path)}.{MANIFEST}", manifest)

    def _send(self, file: Path, there: str, written: FileSum) -> None:
        """Copies a file to the shared folder under a temporary name, checks hash and size, and renames the copy."""
        part, checksum = f"{there}.{uuid.uuid4().hex}.{PART}", hashlib.sha256()
        try:
            with file.open("rb") as source, self._files.open(part, "wb") as sink:
                while block := source.read(TRANSFER_BLOCK):
                    checksum.update(block)
                    sink.write(block)
                    progress("sending files", step=False)
            if checksum.hexdigest() != written.sha256:
                raise Damaged(f"{file}: holds other bytes than were written")
            if self._size(part) != written.bytes:
                raise OSError(f"{part} has {self._size(part)} bytes, {written.bytes} were sent")
            self._files.mv(part, there)
        except BaseException:
            with contextlib.suppress(Exception):
                self._files.rm_file(part)
            raise

    def _fetch(self, path: Path, into: Path, sums: Collection[FileSum]) -> bool:
        if sums:
            there = [a for a in sums if self._size(self._content(path, path.name, a)) == a.bytes]
            listing: Listing = {path.name: there[0]} if there else {}
        else:
            manifest = self._read(f"{self._at(path)}.{MANIFEST}")
            listing = {} if manifest is None else listed_in(manifest, f"{self._name(path)}.{MANIFEST}")
        is_file = set(listing) == {path.name}
        for name, written in listing.items():
            self._take(self._content(path, name, written), into if is_file else into / name, written)
        return bool(listing)

    def _take(self, there: str, file: Path, written: FileSum) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._files.open(there, "rb") as source, file.open("wb") as sink:
                while block := source.read(TRANSFER_BLOCK):
                    sink.write(block)
                    progress("fetching files", step=False)
        except FileNotFoundError:
            raise Damaged(f"{there}: is listed and not there") from None
        if FileSum.of(file) != written:
            raise Damaged(f"{there}: is not what was put there")

    def _read(self, there: str) -> bytes | None:
        try:
            return bytes(self._files.cat_file(there))
        except FileNotFoundError:
            return None

    def _size(self, there: str) -> int | None:
        try:
            return int(self._files.info(there)["size"])
        except FileNotFoundError:
            return None

    def _name(self, path: Path) -> str:
        return path.relative_to(self.cache).as_posix()

    def _at(self, path: Path) -> str:
        return f"{self._root}/{self._name(path)}"

    def _content(self, path: Path, name: str, written: FileSum) -> str:
        return f"{self._at(path)}/{name}.{written.sha256[:16]}"

    def _tried(self, call: Callable[[], Got]) -> Got:
        """The result of a call, retried with growing pauses; a missing, forbidden or damaged file is not retried."""
        return Retrying(
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential(multiplier=0.5, max=LONGEST_WAIT_S),
            retry=retry_if_not_exception_type((FileNotFoundError, PermissionError, Damaged)),
            before_sleep=before_sleep_log(log, logging.WARNING),
            reraise=True,
        )(call)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def make_once(
    path: Path,
    build: Callable[[Path], None],
    *,
    older: Callable[[Path], bool] | None = None,
    listed: bool = True,
    shared: SharedFolder | None = None,
) -> Path:
    """`path`, after `build` has made the file or folder where it was missing or damaged.

    `build` gets a path beside it where nothing is, and makes the file or folder there; it takes its name once it is
    whole. A worker that is killed leaves a partial one that the next one removes; the others wait at a lock that the
    system gives up with its holder. What an earlier version made without checksums is made again, unless `older` finds
    it right. `listed` False: no cache, so it gets no checksums and stays as it is. `shared`: where other machines may
    have put it, and where it is put for them.
    """
    if not _is_here(path, listed):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            if not _is_right(path, older, listed):  # made while we waited
                partial = path.with_name(f"{path.name}.partial")
                remove(partial)
                if shared is None or not shared.fetch(path, partial):
                    remove(partial)
                    build(partial)
                if listed:
                    seal(path, partial)
                os.replace(partial, path)
    if shared is not None:
        shared.put(path)
    return path


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a file or folder; who waits for it is no worker that hangs."""
    lock = FileLock(f"{path}.lock")
    while not lock.is_locked:
        progress("waiting for files that another process makes", step=False)
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=LOCK_S)
    try:
        yield
    finally:
        lock.release()


def _is_here(path: Path, listed: bool) -> bool:
    """True where `path` can be used as it is; checked without the lock, so another worker may be repairing it."""
    try:
        return path.exists() and (not listed or is_listed(path))
    except (Damaged, FileNotFoundError):
        return False


def _is_right(path: Path, older: Callable[[Path], bool] | None, listed: bool) -> bool:
    """True where `path` can be used as it is; otherwise a file or folder there is removed or set aside."""
    if not path.exists() or not listed:
        return path.exists()
    try:
        if is_listed(path):
            return True
    except Damaged as damage:
        set_aside(path, damage)
        return False
    if older is not None and older(path):
        seal(path)
        tell(f"{path}: an earlier version made it; it is right, and has checksums from now on")
        return True
    if older is not None:
        set_aside(path, f"{path}: is not what it should be, and has no checksums")
        return False
    tell(f"{path}: an earlier version made it without checksums; made again")
    remove(path)
    return False
